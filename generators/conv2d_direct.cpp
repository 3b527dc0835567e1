/** Generator conv2d_direct: one direct stride-1 2-D convolution for one element type, target and set of tiles. */
#include "conv2d_generator.h"
#include "schedules/direct_cpu.h"
#include "schedules/direct_cuda.h"

namespace {

class Conv2DDirect : public hconv::Conv2DGenerator<Conv2DDirect> {
public:
  void configure() {
    hconv::Conv2DGenerator<Conv2DDirect>::configure();
    if (get_target().has_gpu_feature())
      return;
    block_ic = add_input<int32_t>("block_ic");
    task_oh = add_input<int32_t>("task_oh");
    task_oc = add_input<int32_t>("task_oc");
    task_b = add_input<int32_t>("task_b");
  }

  void request(hconv::CudaBackendOptions &options) override {
    hconv::Conv2DGenerator<Conv2DDirect>::request(options);
    if (kh_tile > 1)
      options.unroll["kh"] = kh_tile; // what is read for a row of taps lies a constant behind the row before
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
  // Of the CPU: input channels of one partial sum, which decides how sums round; and the extents of a task, which
  // decide nothing about the result (docs/cpu.md).
  Input<int32_t> *block_ic = nullptr, *task_oh = nullptr, *task_oc = nullptr, *task_b = nullptr;

  void generate_cuda(const hconv::DirectConv2DInputs &in) {
    hconv::DirectConv2D conv = hconv::direct_conv2d(in, element);
    y(conv.outputs()) = conv.y(conv.outputs());
    hconv::schedule_direct_cuda(conv, y, tiles(), element);
  }

  void generate_cpu(const hconv::DirectConv2DInputs &in) {
    auto extent = [](Input<int32_t> *argument) { return Halide::max(Halide::Expr(*argument), 1); };
    const hconv::DirectCpuTasks tasks{extent(task_oh), extent(task_oc), extent(task_b)};
    const hconv::ConvBlocks blocks = hconv::direct_cpu_blocks(tiles(), y.dim(0).extent(), extent(block_ic));
    hconv::BlockedConv2D conv = hconv::blocked_conv2d(in, element, blocks);
    y(conv.ow, conv.oh, conv.oc, conv.b) = conv.y(conv.ow, conv.oh, conv.oc, conv.b);
    hconv::schedule_direct_cpu(conv, y, tiles(), tasks, in.kh * in.kw, element,
                               get_target().natural_vector_size<float>());
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Conv2DDirect, conv2d_direct)
