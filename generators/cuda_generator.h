/** What every generator needs to be compiled by hconv's CUDA back end. */
#pragma once

#include "codegen/cuda_backend.h"
#include "codegen/stock_shared.h"

namespace hconv {

/** A Halide::Generator whose pipeline goes through the CUDA back end when the parameter nvcc names a compiler, and
 * through Halide's own back end for the target otherwise. */
template <typename T> class CudaGenerator : public Halide::Generator<T> {
public:
  template <typename P> using GeneratorParam = Halide::GeneratorParam<P>;

  GeneratorParam<std::string> variant{"variant", "variant"}; // names kernels and files
  GeneratorParam<std::string> nvcc{"nvcc", ""};
  GeneratorParam<std::string> nvcc_archs{"nvcc_archs", "90a,ptx80"};
  GeneratorParam<std::string> prelude{"prelude", ""};  // folders of the prelude, separated by ':'
  GeneratorParam<std::string> out_dir{"out_dir", "."}; // receives the CUDA text

  Halide::Pipeline build_pipeline() override {
    Halide::Pipeline pipeline = Halide::Generator<T>::build_pipeline();
    if (!nvcc.value().empty()) {
      CudaBackendOptions options;
      options.variant = variant;
      options.out_dir = out_dir;
      options.nvcc = nvcc;
      options.archs = nvcc_archs;
      options.prelude = prelude;
      request(options);
      install_cuda_backend(pipeline, this->get_target(), options);
    } else if (this->get_target().has_feature(Halide::Target::CUDA)) {
      install_stock_shared(pipeline);
    }
    return pipeline;
  }

protected:
  /** What the schedule asks of the back end's passes. */
  virtual void request(CudaBackendOptions &) {}
};

} // namespace hconv
