/** constant_loops: loops of a bounded extent become loops of that bound with an if inside. */
#pragma once

#include "kernel.h"
#include <set>

namespace hconv {

/** Works on kernel.body. A loop whose extent is not constant gets its constant upper bound as extent, and a test in its
 * body, where it
 *  - indexes a Register array (else the array would fall into local memory): no such bound is a compile error; or
 *  - runs in the producer of a staged array, holds no barrier and has a bound of at most 32, so that its copies can be
 *    unrolled. */
Halide::Internal::Stmt constant_loops(const CudaKernel &kernel);

/** Names of the loops whose variables index Register arrays: the printer must unroll them. */
std::set<std::string> register_loops(const Halide::Internal::Stmt &body);

/** True where a statement holds a barrier. */
bool has_barrier(const Halide::Internal::Stmt &s);

} // namespace hconv
