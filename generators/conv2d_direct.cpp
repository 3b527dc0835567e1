/** Generator conv2d_direct: one direct stride-1 2-D convolution for one element type, target and set of tiles. */
#include "codegen/cuda_backend.h"
#include "conv2d_algorithm.h"
#include "schedules/direct_cpu.h"
#include "schedules/direct_cuda.h"

using namespace Halide;

namespace {

class Conv2DDirect : public Generator<Conv2DDirect> {
public:
  GeneratorParam<Type> element{"type", Float(32)};
  GeneratorParam<std::string> variant{"variant", "conv2d_direct"};
  GeneratorParam<int> tile_oc{"tile_oc", 32, 1, 1024}, tile_ow{"tile_ow", 64, 1, 1024}, tile_oh{"tile_oh", 1, 1, 64};
  GeneratorParam<int> thread_oc{"thread_oc", 4, 1, 64}, thread_ow{"thread_ow", 4, 1, 64},
      thread_oh{"thread_oh", 1, 1, 64};
  GeneratorParam<int> ic{"ic", 8, 1, 256}, kh_tile{"kh_tile", 1, 1, 64}, kw_tile{"kw_tile", 1, 1, 64},
      kw{"kw", 0, 0, 64};
  GeneratorParam<int> unroll_ic{"unroll_ic", 1, 1, 64};
  GeneratorParam<int> stages{"stages", 1, 1, 8}, warps{"warps", 4, 1, 32}, min_blocks{"min_blocks", 1, 1, 32};
  // Of the CUDA back end: compiler, list such as "90a,ptx80", folders of the prelude and of the outputs.
  GeneratorParam<std::string> nvcc{"nvcc", ""}, nvcc_archs{"nvcc_archs", "90a,ptx80"}, prelude{"prelude", ""};
  GeneratorParam<std::string> out_dir{"out_dir", "."};

  Input<Buffer<void, 4>> x{"x"};
  Input<Buffer<void, 4>> w{"w"};
  Input<Buffer<void, 1>> bias{"bias"};
  Input<int32_t> has_bias{"has_bias"}, pad_top{"pad_top"}, pad_left{"pad_left"};
  Output<Buffer<void, 4>> y{"y"};

  void configure() {
    x.set_type(element);
    w.set_type(element);
    bias.set_type(element);
    y.set_type(element);
  }

  void generate() {
    hconv::DirectConv2DInputs in;
    in.x = x;
    for (int d = 0; d < 4; d++) {
      in.x_extent[d] = x.dim(d).extent();
      x.dim(d).set_min(0);
      w.dim(d).set_min(0);
      y.dim(d).set_min(0);
    }
    bias.dim(0).set_min(0);
    in.w = w;
    in.whole_chunks = kw > 0;
    in.kw = kw > 0 ? w.dim(1).extent() / int(kw) * int(kw) : w.dim(1).extent();
    in.kh = w.dim(2).extent() / int(kh_tile) * int(kh_tile);
    in.packed_oc = w.dim(0).extent();
    in.packed_ic = w.dim(3).extent() / ic * ic;
    in.bias = bias;
    in.bias_extent = bias.dim(0).extent();
    in.has_bias = has_bias;
    in.pad_top = pad_top;
    in.pad_left = pad_left;
    // Packed weights are whole tiles, and every row starts at a multiple of one: the staging copies rely on it.
    w.set_host_alignment(16);
    w.dim(0).set_extent(w.dim(0).extent() / tile_oc * tile_oc);
    w.dim(1).set_extent(in.kw);
    w.dim(2).set_extent(in.kh);
    w.dim(3).set_extent(in.packed_ic);
    for (int d = 1; d < 4; d++)
      w.dim(d).set_stride(w.dim(d).stride() / tile_oc * tile_oc);

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

  hconv::DirectTiles tiles() const {
    return {tile_oc, tile_ow, tile_oh, thread_oc, thread_ow, thread_oh, ic, kh_tile, kw_tile, kw, stages, warps};
  }

  Pipeline build_pipeline() override {
    Pipeline pipeline = Generator<Conv2DDirect>::build_pipeline();
    if (!nvcc.value().empty()) {
      hconv::CudaBackendOptions options;
      options.variant = variant;
      options.out_dir = out_dir;
      options.nvcc = nvcc;
      options.archs = nvcc_archs;
      options.prelude = prelude;
      options.min_blocks = min_blocks;
      if (unroll_ic > 1)
        options.unroll["ic"] = unroll_ic;
      options.pipeline = hconv::direct_cuda_pipeline(tiles());
      hconv::install_cuda_backend(pipeline, get_target(), options);
    }
    return pipeline;
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Conv2DDirect, conv2d_direct)
