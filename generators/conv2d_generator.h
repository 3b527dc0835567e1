/** Parameters, inputs and outputs that all convolution generators share. */
#pragma once

#include "conv2d_algorithm.h"
#include "cuda_generator.h"
#include "schedules/direct_tiles.h"

namespace hconv {

template <typename T> class Conv2DGenerator : public CudaGenerator<T> {
public:
  template <typename P> using GeneratorParam = Halide::GeneratorParam<P>;
  template <typename P> using Input = Halide::GeneratorInput<P>;
  template <typename P> using Output = Halide::GeneratorOutput<P>;
  using Buffer4 = Halide::Buffer<void, 4>;

  GeneratorParam<Halide::Type> element{"type", Halide::Float(32)};
  GeneratorParam<int> tile_oc{"tile_oc", 32, 1, 1024}, tile_ow{"tile_ow", 64, 1, 1024}, tile_oh{"tile_oh", 1, 1, 64};
  GeneratorParam<int> thread_oc{"thread_oc", 4, 1, 256}, thread_ow{"thread_ow", 4, 1, 256},
      thread_oh{"thread_oh", 1, 1, 64};
  GeneratorParam<int> ic{"ic", 8, 1, 256}, kh_tile{"kh_tile", 1, 1, 64}, kw_tile{"kw_tile", 1, 1, 64},
      kw{"kw", 0, 0, 64};
  GeneratorParam<int> unroll_ic{"unroll_ic", 1, 1, 64};
  GeneratorParam<int> split{"split", 0, 0, 1}; // 1: sums over slices of the channels, for sum_parts to add up
  GeneratorParam<int> stages{"stages", 1, 1, 8}, warps{"warps", 4, 1, 32}, min_blocks{"min_blocks", 1, 1, 32};

  Input<Buffer4> x{"x"};
  Input<Buffer4> w{"w"};
  Input<Halide::Buffer<void, 1>> bias{"bias"};
  Input<int32_t> has_bias{"has_bias"}, pad_top{"pad_top"}, pad_left{"pad_left"};
  Output<Halide::Buffer<>> y{"y"}; // of a split sum the float32 parts y(ow, oh, oc, s, b)

  void configure() {
    x.set_type(element);
    w.set_type(element);
    bias.set_type(element);
    y.set_type(split ? Halide::Type(Halide::Float(32)) : Halide::Type(element));
    y.set_dimensions(split ? 5 : 4);
  }

protected:
  DirectTiles tiles() const {
    return {tile_oc, tile_ow, tile_oh, thread_oc, thread_ow, thread_oh, ic, kh_tile, kw_tile, kw, stages, warps};
  }

  /** The algorithm's inputs from the buffers. Promises whole tiles of packed weights, which the staging copies need. */
  DirectConv2DInputs inputs() {
    DirectConv2DInputs in;
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
    in.packed_ic = w.dim(3).extent() / int(ic) * int(ic);
    if (split) {
      y.dim(4).set_min(0);
      in.slice_ic = w.dim(3).extent() / int(ic) / y.dim(3).extent() * int(ic);
      in.packed_ic = in.slice_ic * y.dim(3).extent();
    }
    in.bias = bias;
    in.bias_extent = bias.dim(0).extent();
    in.has_bias = has_bias;
    in.pad_top = pad_top;
    in.pad_left = pad_left;
    w.set_host_alignment(16);
    w.dim(0).set_extent(w.dim(0).extent() / int(tile_oc) * int(tile_oc));
    w.dim(1).set_extent(in.kw);
    w.dim(2).set_extent(in.kh);
    w.dim(3).set_extent(in.packed_ic);
    return in;
  }

  void request(CudaBackendOptions &options) override {
    options.min_blocks = min_blocks;
    if (unroll_ic > 1)
      options.unroll["ic"] = unroll_ic;
    options.pipeline = {"kw_chunk", stages};
  }
};

} // namespace hconv
