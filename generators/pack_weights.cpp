/** Generator pack_weights: w[OC,IC,KH,KW] -> packed(oc, kw, kh, ic) in the memory order that the output's strides give,
 * zero beyond OC and IC.
 *
 * Elements are moved as unsigned integers of their size, so one generator serves every type and NaNs keep their bits.
 */
#include "cuda_generator.h"

using namespace Halide;

namespace {

class PackWeights : public hconv::CudaGenerator<PackWeights> {
public:
  GeneratorParam<int> bits{"bits", 32, 16, 32};

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
    w.dim(0).set_stride(Expr());      // contiguous, or channels last
    packed.dim(0).set_stride(Expr()); // the variant's layout decides which dimension is innermost
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

private:
  Var oc{"oc"}, kw{"kw"}, kh{"kh"}, ic{"ic"};
};

} // namespace

HALIDE_REGISTER_GENERATOR(PackWeights, pack_weights)
