/** Generator sum_parts: parts[B,S,OC,OH,OW], the float32 sums over S slices of the channels -> y[B,OC,OH,OW].
 *
 * The parts are added in order, the first one first, then the bias, and the result is rounded once: a second stage
 * whose result depends on nothing but S. */
#include "cuda_generator.h"

using namespace Halide;

namespace {

class SumParts : public hconv::CudaGenerator<SumParts> {
public:
  GeneratorParam<Type> element{"type", Float(32)};

  Input<Buffer<float, 3>> parts{"parts"}; // parts(i, s, b), with i = oc * pixels + pixel
  Input<Buffer<void, 1>> bias{"bias"};    // bias(oc), or one element that is not read
  Input<int32_t> has_bias{"has_bias"};
  Input<int32_t> pixels{"pixels"}; // OH * OW
  Output<Buffer<void, 2>> y{"y"};  // y(i, b)

  void configure() {
    bias.set_type(element);
    y.set_type(element);
  }

  void generate() {
    for (int d = 0; d < 3; d++)
      parts.dim(d).set_min(0);
    bias.dim(0).set_min(0);
    for (int d = 0; d < 2; d++)
      y.dim(d).set_min(0);

    RDom slices(0, parts.dim(1).extent(), "slices");
    sum(i, b) = 0.f;
    sum(i, b) += parts(i, slices, b);
    // As in direct_conv2d: what the select drops may be anything.
    Expr oc = clamp(i / max(pixels, 1), 0, bias.dim(0).extent() - 1);
    y(i, b) = cast(element, sum(i, b) + select(has_bias != 0, cast<float>(bias(oc)), 0.f));

    // One output a thread: outputs are few where a split pays, and so threads are what hides the loads' latency.
    Func out = y;
    Var block("block"), thread("thread");
    out.never_partition_all();
    sum.never_partition_all();
    sum.update().never_partition_all();
    out.split(i, block, thread, 128, TailStrategy::GuardWithIf)
        .fuse(block, b, block)
        .gpu_threads(thread)
        .gpu_blocks(block);
    sum.compute_at(out, thread).store_in(MemoryType::Register);
    sum.update().rename(slices, RVar("part"));
  }

protected:
  void request(hconv::CudaBackendOptions &options) override { options.unroll["part"] = 8; }

private:
  Var i{"i"}, b{"b"};
  Func sum{"sum"};
};

} // namespace

HALIDE_REGISTER_GENERATOR(SumParts, sum_parts)
