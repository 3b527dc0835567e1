/** cuda_printer: a kernel's IR as CUDA C++ that a person can read. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Prints one __global__ function with its __launch_bounds__, followed by HCONV_REGISTER_KERNEL. Expects a body that
 * the other passes have worked on: no GPU loops, shared memory laid out, register arrays private, no vector Load or
 * Store. Variables keep the last part of their names in the schedule ("acc.s1.r$x.kw" -> kw). Loops that index register
 * arrays are unrolled whole, whatever they hold; of the others, those that the kernel names are unrolled by its factor,
 * and any other that holds a barrier stays a loop. Integer division and modulo round as Halide's do. A node, type
 * or call that has no CUDA spelling here is a compile error that names it. */
std::string print_cuda(const CudaKernel &kernel);

} // namespace hconv
