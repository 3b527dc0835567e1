/** private_registers: a block's Register arrays become small arrays of each thread, indexed by constants. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Expects a kernel's body, after constant_loops, in which Register allocations are indexed by (a part that is the same
 * in every access) + (constant-extent loops inside the allocation). The first part only says which thread owns the
 * element; each thread has its own copy, so it is dropped, and the rest is renumbered densely.
 *
 * Leaves every such array with the exact number of elements that one thread needs, and every index a function of loops
 * that can be unrolled. Anything else is a compile error that names the array, because it would live in local memory.
 */
Halide::Internal::Stmt private_registers(const Halide::Internal::Stmt &body);

} // namespace hconv
