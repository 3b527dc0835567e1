/** vector_access: vector loads and stores become single wide accesses where their alignment is proved. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Expects a kernel's body after private_registers. Leaves no Load or Store of more than one lane on shared or global
 * memory; in their place stand calls of the prelude:
 *
 *     hconv::load_aligned<vec>(p), hconv::store_aligned(p, v)     dense and proved aligned to the vector's size
 *     hconv::load_guarded<vec>(p), hconv::store_guarded(p, v)     dense; tests the address and else goes lane by lane
 *     hconv::load_strided<vec>(p, s), hconv::store_strided(p, s, v)
 *     hconv::gather<vec>(array, indices), hconv::scatter(array, indices, v)
 *     hconv::load_array<vec>(p), hconv::store_array(p, v)         of a thread's own registers
 *
 * The alignment of an index is what Halide proved; that of a buffer is its parameter's host_alignment (device pointers
 * are promised the same), and shared memory starts at a multiple of 128 bytes. Vectors of more than 16 bytes are split
 * by the prelude. A predicated access is a compile error. */
Halide::Internal::Stmt vector_access(const Halide::Internal::Stmt &body);

} // namespace hconv
