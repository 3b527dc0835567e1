#include "direct_cuda.h"

#include <numeric>

using namespace Halide;

namespace hconv {

namespace {

constexpr int kLanes = 32;
constexpr int kLanesOW = 8; // lanes of a warp along ow; the other 4 lie along oc, so a warp reads few different weights

int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

/** How the threads of a block share its tile. A warp is 8 (ow) x 4 (oc) lanes; warps lie along ow, then oh, then oc. */
struct ThreadGrid {
  Var t{"t"};             // thread
  Var ew{"ew"}, ec{"ec"}; // outputs of one thread
  int across_ow, rows, across_oc;

  explicit ThreadGrid(const DirectTiles &tiles)
      : across_ow(tiles.tile_ow / tiles.thread_ow), rows(tiles.tile_oh), across_oc(tiles.tile_oc / tiles.thread_oc) {}

  int threads() const { return across_ow * rows * across_oc; }
  int warps() const { return threads() / kLanes; }

  /** Gives each thread its outputs of a stage over one block's tile. */
  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &tiles) const {
    Var lane_ow("lane_ow"), warp_ow("warp_ow"), lane_oc("lane_oc"), warp_oc("warp_oc");
    s.split(ow, lane_ow, ew, tiles.thread_ow)
        .split(lane_ow, warp_ow, lane_ow, kLanesOW)
        .split(oc, lane_oc, ec, tiles.thread_oc)
        .split(lane_oc, warp_oc, lane_oc, kLanes / kLanesOW)
        .fuse(lane_ow, lane_oc, t)
        .fuse(t, warp_ow, t)
        .fuse(t, oh, t)
        .fuse(t, warp_oc, t);
  }
};

/** Loop partitioning would duplicate the whole kernel for its borders. */
void never_partition(const std::vector<Func> &funcs) {
  for (Func f : funcs) {
    f.never_partition_all();
    for (int i = 0; i < f.num_update_definitions(); i++)
      f.update(i).never_partition_all();
  }
}

/** Weights: contiguous copies of 16 bytes, spread over all threads. */
void stage_weights(DirectConv2D &conv, const ThreadGrid &grid, const DirectTiles &tiles, int vector_elements) {
  Var f("f"), vec("vec");
  conv.w_tile.bound_extent(conv.wo, tiles.tile_oc)
      .bound_extent(conv.wx, tiles.kw_tile)
      .bound_extent(conv.wy, 1)
      .bound_extent(conv.wi, tiles.ic)
      .store_in(MemoryType::GPUShared)
      .split(conv.wo, conv.wo, vec, vector_elements)
      .vectorize(vec)
      .fuse(conv.wo, conv.wx, f)
      .fuse(f, conv.wy, f)
      .fuse(f, conv.wi, f)
      .split(f, f, grid.t, grid.threads(), TailStrategy::GuardWithIf)
      .reorder(vec, f, grid.t)
      .gpu_threads(grid.t);
}

/** x: a warp takes one row of one channel at a time, so that addresses need no division. */
void stage_x(DirectConv2D &conv, const ThreadGrid &grid, const DirectTiles &tiles, int width) {
  Var lane("lane"), row("row"), warp("warp");
  conv.x_tile.bound_extent(conv.xw, width)
      .bound_extent(conv.xh, tiles.tile_oh)
      .bound_extent(conv.xc, tiles.ic)
      .bound_extent(conv.xb, 1)
      .store_in(MemoryType::GPUShared)
      .split(conv.xw, conv.xw, lane, kLanes, TailStrategy::GuardWithIf)
      .fuse(conv.xh, conv.xc, row)
      .split(row, row, warp, grid.warps(), TailStrategy::GuardWithIf)
      .reorder(conv.xw, row, lane, warp, conv.xb)
      .fuse(lane, warp, grid.t)
      .gpu_threads(grid.t);
}

} // namespace

void schedule_direct_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles, Type element) {
  const ThreadGrid grid(tiles);
  _halide_user_assert(grid.threads() == tiles.warps * kLanes)
      << "warps is " << tiles.warps << ", but tiles of " << tiles.tile_oc << " oc x " << tiles.tile_oh << " oh x "
      << tiles.tile_ow << " ow with " << tiles.thread_oc << " x " << tiles.thread_ow << " a thread need "
      << grid.threads() << " threads";
  Func window = conv.x_tile.in(conv.acc), weights = conv.w_tile.in(conv.acc);
  never_partition({y, conv.acc, conv.x_tile, conv.w_tile, window, weights});

  Var ow_block("ow_block"), oh_block("oh_block"), oc_block("oc_block"), batch_oh("batch_oh");
  Var ow("ow_in"), oh("oh_in"), oc("oc_in");
  y.split(conv.ow, ow_block, ow, tiles.tile_ow, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_block, oc, tiles.tile_oc, TailStrategy::GuardWithIf)
      .split(conv.oh, oh_block, oh, tiles.tile_oh, TailStrategy::GuardWithIf)
      .fuse(oh_block, conv.b, batch_oh);
  grid.split(y, ow, oh, oc, tiles);
  // Only the grid's x may exceed 65535 blocks, so it is batch x OH; neighbours in x share weights and rows of x.
  y.reorder(grid.ew, grid.ec, grid.t, batch_oh, ow_block, oc_block)
      .gpu_threads(grid.t)
      .gpu_blocks(batch_oh, ow_block, oc_block);

  conv.acc.bound_extent(conv.ow, tiles.tile_ow)
      .bound_extent(conv.oh, tiles.tile_oh)
      .bound_extent(conv.oc, tiles.tile_oc)
      .bound_extent(conv.b, 1)
      .compute_at(y, batch_oh)
      .store_in(MemoryType::Register);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder(grid.ew, grid.ec, grid.t).gpu_threads(grid.t);

  RVar kh("kh"), kw("kw"), kw_chunk("kw_chunk"), ic("ic"), ic_chunk("ic_chunk");
  Stage sum = conv.acc.update();
  sum.split(conv.r.z, ic_chunk, ic, tiles.ic).split(conv.r.x, kw_chunk, kw, tiles.kw_tile).rename(conv.r.y, kh);
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder(grid.ew, grid.ec, kw, ic, grid.t, kw_chunk, kh, ic_chunk).gpu_threads(grid.t);

  // Vectors of the window must not cross a thread's outputs' alignment.
  const int vector_x = std::gcd(tiles.thread_ow, 4), vector_w = std::gcd(tiles.thread_oc, 16 / element.bytes());
  const int window_width = round_up(tiles.thread_ow + tiles.kw_tile - 1, vector_x);
  window.bound_extent(conv.xw, window_width).compute_at(conv.acc, ic).store_in(MemoryType::Register);
  weights.bound_extent(conv.wo, tiles.thread_oc).compute_at(conv.acc, kw).store_in(MemoryType::Register);
  if (vector_x > 1)
    window.vectorize(conv.xw, vector_x);
  if (vector_w > 1)
    weights.vectorize(conv.wo, vector_w);

  stage_weights(conv, grid, tiles, 16 / element.bytes());
  conv.w_tile.compute_at(conv.acc, kw_chunk);
  stage_x(conv, grid, tiles, tiles.tile_ow + window_width - tiles.thread_ow);
  conv.x_tile.compute_at(conv.acc, kw_chunk);
}

PipelineRequest direct_cuda_pipeline(const DirectTiles &tiles) { return {"kw_chunk", tiles.stages}; }

} // namespace hconv
