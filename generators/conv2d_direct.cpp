/** Generator conv2d_direct: one direct stride-1 2-D convolution for one element type, target and set of tiles. */
#include "conv2d_generator.h"
#include "schedules/direct_cpu.h"
#include "schedules/direct_cuda.h"

namespace {

class Conv2DDirect : public hconv::Conv2DGenerator<Conv2DDirect> {
public:
  void configure() {
    hconv::Conv2DGenerator<Conv2DDirect>::configure();
    if (!get_target().has_gpu_feature())
      threads = add_input<int32_t>("threads");
  }

  void request(hconv::CudaBackendOptions &options) override {
    hconv::Conv2DGenerator<Conv2DDirect>::request(options);
    // Sums of about 1024 products: their rounding errors stay small beside those of a chain of 131072 (K = 32, IC =
    // 128).
    options.sum_steps = std::max(1, 1024 / (int(ic) * int(kh_tile) * int(kw_tile)));
  }

  void generate() {
    const hconv::DirectConv2DInputs in = inputs();
    // Rows of packed weights start at multiples of a tile.
    for (int d = 1; d < 4; d++)
      w.dim(d).set_stride(w.dim(d).stride() / int(tile_oc) * int(tile_oc));

    if (get_target().has_gpu_feature())
      generate_cuda(in);
    else
      generate_cpu(in);
  }

private:
  Input<int32_t> *threads =
      nullptr; // of the CPU: the size of tasks depends on it, but no result; 0 when it is not known

  void generate_cuda(const hconv::DirectConv2DInputs &in) {
    hconv::DirectConv2D conv = hconv::direct_conv2d(in, element);
    y(conv.ow, conv.oh, conv.oc, conv.b) = conv.y(conv.ow, conv.oh, conv.oc, conv.b);
    hconv::schedule_direct_cuda(conv, y, tiles(), element);
  }

  void generate_cpu(const hconv::DirectConv2DInputs &in) {
    const hconv::DirectCpuProblem problem{
        y.dim(0).extent(), y.dim(1).extent(), y.dim(2).extent(), y.dim(3).extent(), in.packed_ic, in.kh, in.kw,
        *threads};
    hconv::BlockedConv2D conv = hconv::blocked_conv2d(in, element, hconv::direct_cpu_blocks(tiles(), problem));
    y(conv.ow, conv.oh, conv.oc, conv.b) = conv.y(conv.ow, conv.oh, conv.oc, conv.b);
    hconv::schedule_direct_cpu(conv, y, tiles(), problem, element, get_target().natural_vector_size<float>());
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Conv2DDirect, conv2d_direct)
