/** Generator spectral_product: one batched complex matrix product, a frequency each, for one set of tiles. */
#include "cuda_generator.h"
#include "product_algorithm.h"
#include "schedules/product_cpu.h"
#include "schedules/product_cuda.h"

namespace {

class SpectralProductGenerator : public hconv::CudaGenerator<SpectralProductGenerator> {
public:
  GeneratorParam<Halide::Type> element{"type", Halide::Float(32)};
  GeneratorParam<int> tile_oc{"tile_oc", 64, 1, 1024}, tile_ow{"tile_ow", 64, 1, 1024}; // ow stands for n
  GeneratorParam<int> thread_oc{"thread_oc", 4, 1, 256}, thread_ow{"thread_ow", 8, 1, 256};
  GeneratorParam<int> products{"products", 4, 3, 4}; // real ones of a complex product
  GeneratorParam<int> ic{"ic", 8, 1, 256}, unroll_ic{"unroll_ic", 1, 1, 64};
  GeneratorParam<int> sum_ic{"sum_ic", 0, 0, 65536}; // channels in one chain of additions; 0: all
  GeneratorParam<int> stages{"stages", 3, 1, 8}, warps{"warps", 4, 1, 32}, min_blocks{"min_blocks", 1, 1, 32};

  Input<Buffer<float, 4>> x{"x"};  // x(n, c, ic, f)
  Input<Buffer<float, 4>> w{"w"};  // w(oc, c, ic, f)
  Output<Buffer<float, 4>> y{"y"}; // y(n, c, oc, f)

  void generate() {
    _halide_user_assert(element == Halide::Float(32)) << "type is " << element.value() << ", expected float32";
    promise_whole_tiles();
    const Halide::Expr channels = whole(x.dim(2).extent(), ic);
    const hconv::ComplexProduct form = products == 3 ? hconv::ComplexProduct::three : hconv::ComplexProduct::four;
    hconv::SpectralProduct p = hconv::spectral_product(x, w, channels, form);
    if (!get_target().has_gpu_feature())
      return for_cpu(p, channels, form);
    y(p.n, p.c, p.oc, p.f) = p.y(p.n, p.c, p.oc, p.f);
    hconv::schedule_product_cuda(p, y, {tile_oc, tile_ow, thread_oc, thread_ow, ic, warps});
  }

  void request(hconv::CudaBackendOptions &options) override {
    options.min_blocks = min_blocks;
    options.pipeline = {"ic_chunk", stages};
    options.sum_steps = int(sum_ic) / int(ic);
    options.sum_only_long = true;
    if (unroll_ic > 1)
      options.unroll["ic"] = unroll_ic;
  }

private:
  void for_cpu(hconv::SpectralProduct &p, const Halide::Expr &channels, hconv::ComplexProduct form) {
    const hconv::ProductCpuProblem problem{y.dim(0).extent(), y.dim(2).extent(), x.dim(2).extent(), y.dim(3).extent()};
    const int lanes = get_target().natural_vector_size<float>();
    const hconv::ProductCpuTiles tiles{tile_oc, tile_ow};
    const Halide::Expr one_chain = p.y(p.n, p.c, p.oc, p.f);
    if (sum_ic == 0) {
      y(p.n, p.c, p.oc, p.f) = one_chain;
      hconv::schedule_product_cpu(p, nullptr, y, tiles, problem, lanes);
      return;
    }
    hconv::SpectralProduct in_blocks = hconv::spectral_product(x, w, channels, form, sum_ic);
    const Halide::Expr in_one_chain = channels <= int(sum_ic);
    y(p.n, p.c, p.oc, p.f) = Halide::select(in_one_chain, one_chain, in_blocks.y(p.n, p.c, p.oc, p.f));
    hconv::schedule_product_cpu(p, &in_blocks, y, tiles, problem, lanes);
    y.specialize(in_one_chain);
  }

  static Halide::Expr whole(const Halide::Expr &extent, int tile) { return extent / tile * tile; }

  /** Dense spectra of whole tiles at aligned addresses: no copy needs a guard. */
  void promise_whole_tiles() {
    const Halide::Expr n = whole(y.dim(0).extent(), tile_ow), oc = whole(y.dim(2).extent(), tile_oc);
    const Halide::Expr channels = whole(x.dim(2).extent(), ic), frequencies = y.dim(3).extent();
    promise(x, {n, 2, channels, frequencies});
    promise(w, {oc, 2, channels, frequencies});
    promise(y, {n, 2, oc, frequencies});
  }

  template <typename B> static void promise(B &buffer, const std::vector<Halide::Expr> &extents) {
    Halide::Expr stride = 1;
    for (int d = 0; d < 4; d++) {
      buffer.dim(d).set_bounds(0, extents[size_t(d)]).set_stride(stride);
      stride *= extents[size_t(d)];
    }
    buffer.set_host_alignment(16);
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(SpectralProductGenerator, spectral_product)
