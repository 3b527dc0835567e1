/** Generator conv2d_direct: one direct stride-1 2-D convolution for one element type, target and set of tiles. */
#include "conv2d_generator.h"
#include "schedules/direct_cpu.h"
#include "schedules/direct_cuda.h"

namespace {

class Conv2DDirect : public hconv::Conv2DGenerator<Conv2DDirect> {
public:
  void generate() {
    const hconv::DirectConv2DInputs in = inputs();
    // Rows of packed weights start at multiples of a tile.
    for (int d = 1; d < 4; d++)
      w.dim(d).set_stride(w.dim(d).stride() / int(tile_oc) * int(tile_oc));

    const bool gpu = get_target().has_gpu_feature();
    hconv::DirectConv2D conv =
        hconv::direct_conv2d(in, element, gpu ? hconv::Staging::element : hconv::Staging::float32);
    y(conv.ow, conv.oh, conv.oc, conv.b) = conv.y(conv.ow, conv.oh, conv.oc, conv.b);
    if (gpu) {
      hconv::schedule_direct_cuda(conv, y, tiles(), element);
    } else {
      hconv::DirectCpuExtents extents{
          y.dim(0).extent(), y.dim(1).extent(), y.dim(2).extent(), y.dim(3).extent(), in.packed_ic, in.kh, in.kw};
      hconv::schedule_direct_cpu(conv, y, tiles(), extents, get_target().natural_vector_size<float>());
    }
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Conv2DDirect, conv2d_direct)
