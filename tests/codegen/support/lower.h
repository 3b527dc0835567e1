/** From a small Halide pipeline to the kernels that the back end's passes work on. */
#pragma once

#include "codegen/cuda_backend.h"
#include "codegen/kernel.h"

namespace hconv_test {

/** The target of the CUDA variants. */
Halide::Target cuda_target();

/** The IR of a pipeline as a custom lowering pass meets it. Call inside a question (child.h). */
Halide::Internal::Stmt lower(const Halide::Func &func, const std::vector<Halide::Argument> &arguments = {});

/** The GPU loop nests of such IR, in order. */
std::vector<const Halide::Internal::For *> gpu_nests(const Halide::Internal::Stmt &host);

/** The first kernel of a pipeline, called `name`, after kernel_launch's extract_kernel and lower_intrinsics. */
hconv::CudaKernel kernel_of(const Halide::Func &func, const std::vector<Halide::Argument> &arguments = {},
                            const std::string &name = "test_kernel");

/** The CUDA text of a pipeline's first kernel after all passes, as cuda_backend runs them; named after the current
 * test. `sum_steps` is CudaBackendOptions::sum_steps.
 */
std::string cuda_of(const Halide::Func &func, const hconv::PipelineRequest &request = {},
                    const hconv::TensorCoreRequest &tile = {}, int sum_steps = 0);

/** As above, with all that a schedule may ask for. */
std::string cuda_of(const Halide::Func &func, const hconv::CudaBackendOptions &options);

/** All fields of a kernel, one a line, and its body. */
std::string describe(const hconv::CudaKernel &kernel);

std::string to_string(const Halide::Internal::Stmt &s);
std::string to_string(const Halide::Expr &e);

} // namespace hconv_test
