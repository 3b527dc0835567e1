/** Generators conv2d_mma and conv2d_wgmma: the same convolution as matrix products on the tensor cores, for 16-bit
 * floats, by warps (mma.sync) and by warpgroups (wgmma, sm_90a).
 *
 * x comes channel-innermost and padded, as generator pack_input leaves it: x(ic, w, h, b) with IC a multiple of the ic
 * tile; packed weights keep ic innermost in memory, too. */
#include "conv2d_generator.h"
#include "schedules/mma_cuda.h"
#include "schedules/wgmma_cuda.h"

using namespace Halide;

namespace {

template <typename T> class TensorCoreConv2D : public hconv::Conv2DGenerator<T> {
public:
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
    x.set_host_alignment(16);
    for (int d = 1; d < 4; d++)
      x.dim(d).set_stride(x.dim(d).stride() / ic * ic);
    for (int d = 0; d < 3; d++)
      w.dim(d).set_stride(w.dim(d).stride() / ic * ic);
    w.dim(3).set_stride(1);

    hconv::DirectConv2D conv = hconv::direct_conv2d(in, this->element, hconv::Staging::padded);
    this->y(conv.outputs()) = conv.y(conv.outputs());
    place(conv);
  }

protected:
  virtual void place(hconv::DirectConv2D &conv) = 0;
};

class Conv2DMma : public TensorCoreConv2D<Conv2DMma> {
  void place(hconv::DirectConv2D &conv) override { hconv::schedule_mma_cuda(conv, y, tiles()); }

  void request(hconv::CudaBackendOptions &options) override {
    TensorCoreConv2D<Conv2DMma>::request(options);
    options.tensor_core = hconv::mma_tensor_core();
  }
};

class Conv2DWgmma : public TensorCoreConv2D<Conv2DWgmma> {
  void place(hconv::DirectConv2D &conv) override { hconv::schedule_wgmma_cuda(conv, y, tiles()); }

  void request(hconv::CudaBackendOptions &options) override {
    TensorCoreConv2D<Conv2DWgmma>::request(options);
    options.warpgroup_mma = hconv::wgmma_warpgroup();
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Conv2DMma, conv2d_mma)
HALIDE_REGISTER_GENERATOR(Conv2DWgmma, conv2d_wgmma)
