/** Parameters that the generators of the transform domain share. */
#pragma once

#include "cuda_generator.h"
#include "schedules/spectrum_cpu.h"
#include "schedules/spectrum_cuda.h"
#include "spectrum_algorithm.h"

namespace hconv {

template <typename T> class SpectrumGenerator : public CudaGenerator<T> {
public:
  template <typename P> using GeneratorParam = Halide::GeneratorParam<P>;
  template <typename P> using Input = Halide::GeneratorInput<P>;
  template <typename P> using Output = Halide::GeneratorOutput<P>;
  using Buffer1 = Halide::Buffer<void, 1>;
  using Buffer4 = Halide::Buffer<void, 4>;
  using Spectra = Halide::Buffer<float, 4>; // (n, part, ic, f)

  GeneratorParam<Halide::Type> element{"type", Halide::Float(32)};
  GeneratorParam<int> fft_h{"fft_h", 32, 8, 64}, fft_w{"fft_w", 32, 8, 64};

protected:
  void request(CudaBackendOptions &options) override {
    options.min_blocks = spectrum_min_blocks(size());
    options.addresses_first = true;
  }

  SpectrumTile size() const { return {fft_h, fft_w}; }
  bool on_gpu() const { return this->get_target().has_gpu_feature(); }
  SpectrumBlocks blocks() const {
    return spectrum_cpu_blocks(this->get_target().template natural_vector_size<float>());
  }

  /** A caller's tensor: dense or not, from 0. */
  template <typename Tensor> void from_zero(Tensor &tensor) {
    for (int d = 0; d < tensor.dimensions(); d++)
      tensor.dim(d).set_min(0);
  }

  /** A spectrum, of whole groups of n. */
  template <typename Tensor> void promise_spectrum(Tensor &spectrum) {
    const int group = on_gpu() ? spectrum_group(size()) : blocks().lanes;
    spectrum.dim(0).set_bounds(0, spectrum.dim(0).extent() / group * group);
    spectrum.dim(1).set_bounds(0, 2).set_stride(spectrum.dim(1).stride() / group * group);
    spectrum.dim(2).set_min(0).set_stride(spectrum.dim(2).stride() / group * group);
    spectrum.dim(3).set_bounds(0, size().frequencies()).set_stride(spectrum.dim(3).stride() / group * group);
  }

  template <typename Tensor> static void extents_of(Tensor &tensor, Halide::Expr (&extent)[4]) {
    for (int d = 0; d < 4; d++)
      extent[d] = tensor.dim(d).extent();
  }
};

} // namespace hconv
