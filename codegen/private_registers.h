/** private_registers: a block's Register arrays become small arrays of each thread, indexed by constants. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Expects a kernel's body, after constant_loops, in which Register allocations are indexed by (a part that is the same
 * in every access) + (constant-extent loops inside the allocation). The first part only says which thread owns the
 * element; each thread has its own copy, so it is dropped, and the rest is renumbered: the strides of the loops become
 * the digits of one dense number.
 *
 * Leaves every index a function of loops that can be unrolled. Anything else is a compile error that names the array,
 * because it would live in local memory. An array has an element for each value of each digit. Where constants take the
 * place of loops that Halide unrolled itself, they can skip some: such elements are declared, but as no access reaches
 * them, they take no register. */
Halide::Internal::Stmt private_registers(const Halide::Internal::Stmt &body);

} // namespace hconv
