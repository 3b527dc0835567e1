/** Generator pack_weights: w[OC,IC,KH,KW] -> the direct kernels' layout [ICp,KH,KW,OCp], zero beyond OC and IC.
 *
 * Elements are moved as unsigned integers of their size, so one generator serves every type and NaNs keep their bits.
 */
#include "codegen/cuda_backend.h"

using namespace Halide;

namespace {

class PackWeights : public Generator<PackWeights> {
public:
  GeneratorParam<int> bits{"bits", 32, 16, 32};
  GeneratorParam<std::string> variant{"variant", "pack_weights"};
  GeneratorParam<std::string> nvcc{"nvcc", ""}, nvcc_archs{"nvcc_archs", "90a,ptx80"}, prelude{"prelude", ""};
  GeneratorParam<std::string> out_dir{"out_dir", "."};

  Input<Buffer<void, 4>> w{"w"};            // w(kw, kh, ic, oc)
  Output<Buffer<void, 4>> packed{"packed"}; // packed(oc, kw, kh, ic)

  void configure() {
    w.set_type(UInt(bits));
    packed.set_type(UInt(bits));
  }

  void generate() {
    Expr OC = w.dim(3).extent(), IC = w.dim(2).extent();
    Expr source = w(kw, kh, min(ic, IC - 1), min(oc, OC - 1));
    packed(oc, kw, kh, ic) = select(oc < OC && ic < IC, source, cast(UInt(bits), 0));
    for (int d = 0; d < 4; d++) {
      w.dim(d).set_min(0);
      packed.dim(d).set_min(0);
    }
    Func out = packed;
    out.never_partition_all();
    if (get_target().has_gpu_feature()) {
      // Threads run along kw * kh of one (oc, ic), the contiguous side of w; the packed side is strided but is written
      // once and stays in L2.
      Var tap("tap"), tap_block("tap_block"), oc_block("oc_block"), lane("lane"), row("row");
      out.fuse(kw, kh, tap)
          .split(tap, tap_block, lane, 32, TailStrategy::GuardWithIf)
          .split(oc, oc_block, row, 8, TailStrategy::GuardWithIf)
          .reorder(lane, row, ic, oc_block, tap_block)
          .gpu_threads(lane, row)
          .gpu_blocks(ic, oc_block, tap_block);
    } else {
      Var tap("tap");
      out.fuse(kw, kh, tap).reorder(tap, ic, oc).serial(oc);
    }
  }

  Pipeline build_pipeline() override {
    Pipeline pipeline = Generator<PackWeights>::build_pipeline();
    if (!nvcc.value().empty()) {
      hconv::CudaBackendOptions options;
      options.variant = variant;
      options.out_dir = out_dir;
      options.nvcc = nvcc;
      options.archs = nvcc_archs;
      options.prelude = prelude;
      hconv::install_cuda_backend(pipeline, get_target(), options);
    }
    return pipeline;
  }

private:
  Var oc{"oc"}, kw{"kw"}, kh{"kh"}, ic{"ic"};
};

} // namespace

HALIDE_REGISTER_GENERATOR(PackWeights, pack_weights)
