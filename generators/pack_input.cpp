/** Generator pack_input: x[B,IC,H,W] -> [B,Hp,Wp,ICp], channel innermost, with the zero padding put in. layout says
 * which dimension of x is innermost: w, or ic.
 *
 * Elements are moved as unsigned integers of their size, so one generator serves every type and NaNs keep their bits.
 */
#include "cuda_generator.h"
#include "layout_param.h"

using namespace Halide;

namespace {

class PackInput : public hconv::CudaGenerator<PackInput> {
public:
  GeneratorParam<int> bits{"bits", 16, 16, 32};
  GeneratorParam<hconv::Layout> layout{"layout", hconv::Layout::nchw, hconv::layout_names()};

  Input<Buffer<void, 4>> x{"x"}; // x(w, h, ic, b)
  Input<int32_t> pad_top{"pad_top"}, pad_left{"pad_left"};
  Output<Buffer<void, 4>> packed{"packed"}; // packed(ic, w, h, b)

  void configure() {
    x.set_type(UInt(bits));
    packed.set_type(UInt(bits));
  }

  void generate() {
    Expr W = x.dim(0).extent(), H = x.dim(1).extent(), IC = x.dim(2).extent();
    Expr iw = w - pad_left, ih = h - pad_top;
    Expr inside = iw >= 0 && iw < W && ih >= 0 && ih < H && c < IC;
    Expr source = x(clamp(iw, 0, W - 1), clamp(ih, 0, H - 1), min(c, IC - 1), b);
    packed(c, w, h, b) = select(inside, source, cast(UInt(bits), 0));
    const int group = 128 / bits; // channels of one 16-byte store
    for (int d = 0; d < 4; d++) {
      x.dim(d).set_min(0);
      packed.dim(d).set_min(0);
    }
    if (layout == hconv::Layout::nhwc) {
      x.dim(0).set_stride(Expr());
      x.dim(2).set_stride(1);
    }
    packed.set_host_alignment(16);
    packed.dim(0).set_extent(packed.dim(0).extent() / group * group);
    for (int d = 1; d < 4; d++)
      packed.dim(d).set_stride(packed.dim(d).stride() / group * group);

    // A lane writes 16 bytes of channels, four neighbours 64 in a row; a block's reads of 32 pixels meet in the L1
    // cache.
    Func out = packed;
    Var w_block("w_block"), warp("warp"), lane("lane"), c_group("c_group"), c_block("c_block"), element("element"),
        row("row");
    out.never_partition_all();
    out.split(c, c_group, element, group)
        .split(c_group, c_block, c_group, 4, TailStrategy::GuardWithIf)
        .split(w, w_block, w, 32, TailStrategy::GuardWithIf)
        .split(w, warp, w, 8)
        .fuse(c_group, w, lane)
        .fuse(h, b, row)
        .reorder(element, lane, warp, row, w_block, c_block)
        .vectorize(element)
        .gpu_threads(lane, warp)
        .gpu_blocks(row, w_block, c_block);
  }

private:
  Var w{"w"}, h{"h"}, c{"c"}, b{"b"};
};

} // namespace

HALIDE_REGISTER_GENERATOR(PackInput, pack_input)
