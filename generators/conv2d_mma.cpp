/** Generators conv2d_mma and conv2d_wgmma: the same convolution as matrix products on the tensor cores, for 16-bit
 * floats, by warps (mma.sync) and by warpgroups (wgmma, sm_90a).
 *
 * x(ic, w, h, b) is channel-innermost. With layout nchw it is what generator pack_input leaves, padded and IC a
 * multiple of the ic tile, and y has ow innermost; with nhwc it is the caller's own, or its copy with the IC rounded up
 * to a multiple of 8, and y has oc innermost, a multiple of 8 as well. Packed weights keep ic innermost in memory, too.
 */
#include "conv2d_generator.h"
#include "layout_param.h"
#include "schedules/mma_cuda.h"
#include "schedules/wgmma_cuda.h"

using namespace Halide;

namespace {

template <typename T> class TensorCoreConv2D : public hconv::Conv2DGenerator<T> {
public:
  Halide::GeneratorParam<hconv::Layout> layout{"layout", hconv::Layout::nchw, hconv::layout_names()};
  // Bytes of y that a lane stores at once: an element's, or 16 by quad_stores.
  Halide::GeneratorParam<int> store_bytes{"store_bytes", 2, 2, 16};

  void generate() {
    hconv::DirectConv2DInputs in = this->inputs();
    auto &x = this->x;
    auto &w = this->w;
    const int ic = this->ic;
    Func by_pixel("x_by_pixel");
    Var iw("iw"), ih("ih"), c("c"), n("n");
    by_pixel(iw, ih, c, n) = x(c, iw, ih, n);
    in.x = by_pixel;
    in.x_extent[0] = x.dim(1).extent();
    in.x_extent[1] = x.dim(2).extent();
    in.x_extent[2] = x.dim(0).extent();
    // Rows of channels start at multiples of the ic tile, in x and in the packed weights, where ic is innermost.
    const bool nhwc = layout == hconv::Layout::nhwc;
    const int piece = nhwc ? 8 : ic;
    x.set_host_alignment(16);
    for (int d = 1; d < 4; d++)
      x.dim(d).set_stride(x.dim(d).stride() / piece * piece);
    for (int d = 0; d < 3; d++)
      w.dim(d).set_stride(w.dim(d).stride() / ic * ic);
    w.dim(3).set_stride(1);

    if (nhwc)
      store_channels_innermost();
    hconv::DirectConv2D conv =
        hconv::direct_conv2d(in, this->element, nhwc ? hconv::Staging::pieces : hconv::Staging::padded);
    this->y(conv.outputs()) = conv.y(conv.outputs());
    place(conv);
  }

protected:
  virtual void place(hconv::DirectConv2D &conv) = 0;

  std::string wide_stores(const std::string &pair) const { return int(store_bytes) == 16 ? pair : ""; }

  hconv::DirectTiles tiles() const {
    hconv::DirectTiles tiles = hconv::Conv2DGenerator<T>::tiles();
    tiles.nhwc = layout == hconv::Layout::nhwc;
    tiles.wide_stores = int(store_bytes) == 16;
    return tiles;
  }

private:
  /** What the caller of a kernel for NHWC keeps to. */
  void store_channels_innermost() {
    auto &x = this->x;
    auto &y = this->y; // y(ow, oh, oc, b)
    x.dim(0).set_extent(x.dim(0).extent() / 8 * 8);
    y.set_host_alignment(16);
    for (int d : {0, 1, 3})
      y.dim(d).set_stride(y.dim(d).stride() / 8 * 8);
    y.dim(2).set_stride(1).set_extent(y.dim(2).extent() / 8 * 8);
  }
};

class Conv2DMma : public TensorCoreConv2D<Conv2DMma> {
  void place(hconv::DirectConv2D &conv) override { hconv::schedule_mma_cuda(conv, y, tiles()); }

  void request(hconv::CudaBackendOptions &options) override {
    TensorCoreConv2D<Conv2DMma>::request(options);
    options.tensor_core = hconv::mma_tensor_core();
    options.quad_stores = wide_stores(options.tensor_core.pair);
  }
};

class Conv2DWgmma : public TensorCoreConv2D<Conv2DWgmma> {
public:
  // 1: the tensor core's rows are read from shared memory, by descriptor.
  Halide::GeneratorParam<int> a_shared{"a_shared", 0, 0, 1};

private:
  hconv::DirectTiles tiles() const {
    hconv::DirectTiles tiles = TensorCoreConv2D<Conv2DWgmma>::tiles();
    tiles.a_shared = int(a_shared) == 1;
    return tiles;
  }

  void place(hconv::DirectConv2D &conv) override { hconv::schedule_wgmma_cuda(conv, y, tiles()); }

  void request(hconv::CudaBackendOptions &options) override {
    TensorCoreConv2D<Conv2DWgmma>::request(options);
    options.warpgroup_mma = hconv::wgmma_warpgroup(tiles());
    options.quad_stores = wide_stores(options.warpgroup_mma.tile.pair);
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Conv2DMma, conv2d_mma)
HALIDE_REGISTER_GENERATOR(Conv2DWgmma, conv2d_wgmma)
