/** prove_assertions: assertions inside a kernel are proved and removed. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Expects a kernel's body. Halide puts a check of a bound_extent whose proof it missed inside the GPU loops, where
 * nothing can report it. Here each is proved from the lets around it and removed; one that cannot be proved is a
 * compile error with its condition, as dropping it could hide a schedule that reads outside its tile. */
Halide::Internal::Stmt prove_assertions(const Halide::Internal::Stmt &body);

} // namespace hconv
