#include "direct_cuda.h"

#include "block_tiles.h"
#include <algorithm>
#include <numeric>

using namespace Halide;

namespace hconv {

namespace {

constexpr int kLanesOC =
    4; // lanes of a warp along oc; the other 8 lie along pixels, so a warp reads few different weights

int round_up(int n, int multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/** How the threads of a block share its tile. Of a warp's 8 lanes along pixels, as many as the tile's width allows lie
 * along ow and the rest along oh; warps lie along ow, then oh, then oc. */
struct ThreadGrid {
  Var t{"t"};                          // thread
  Var ew{"ew"}, eh{"eh"}, ec{"ec"};    // outputs of one thread
  int across_ow, across_oh, across_oc; // threads
  int lanes_ow, lanes_oh;

  explicit ThreadGrid(const DirectTiles &tiles)
      : across_ow(tiles.tile_ow / tiles.thread_ow), across_oh(tiles.tile_oh / tiles.thread_oh),
        across_oc(tiles.tile_oc / tiles.thread_oc), lanes_ow(std::min(across_ow, kLanes / kLanesOC)),
        lanes_oh(kLanes / kLanesOC / lanes_ow) {
    _halide_user_assert(across_ow % lanes_ow == 0 && across_oh % lanes_oh == 0 && across_oc % kLanesOC == 0)
        << "A block of " << across_ow << " (ow) x " << across_oh << " (oh) x " << across_oc
        << " (oc) threads does not divide into warps of " << lanes_ow << " x " << lanes_oh << " x " << kLanesOC;
  }

  int threads() const { return across_ow * across_oh * across_oc; }
  int warps() const { return threads() / kLanes; }

  /** Gives each thread its outputs of a stage over one block's tile. */
  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &tiles) const {
    Var lane_ow("lane_ow"), warp_ow("warp_ow"), lane_oh("lane_oh"), warp_oh("warp_oh"), lane_oc("lane_oc"),
        warp_oc("warp_oc");
    s.split(ow, lane_ow, ew, tiles.thread_ow)
        .split(lane_ow, warp_ow, lane_ow, lanes_ow)
        .split(oh, lane_oh, eh, tiles.thread_oh)
        .split(lane_oh, warp_oh, lane_oh, lanes_oh)
        .split(oc, lane_oc, ec, tiles.thread_oc)
        .split(lane_oc, warp_oc, lane_oc, kLanesOC)
        .fuse(lane_ow, lane_oh, t)
        .fuse(t, lane_oc, t)
        .fuse(t, warp_ow, t)
        .fuse(t, warp_oh, t)
        .fuse(t, warp_oc, t);
  }
};

/** Weights: groups of lanes take whole rows of oc, 16 bytes a lane. */
void stage_weights(DirectConv2D &conv, const ThreadGrid &grid, const DirectTiles &tiles, int vector_elements) {
  Var lane("lane"), row("row"), group("group"), vec("vec");
  const int lanes = tiles.tile_oc / vector_elements;
  conv.w_tile.bound_extent(conv.wo, tiles.tile_oc)
      .bound_extent(conv.wx, tiles.kw_tile)
      .bound_extent(conv.wy, tiles.kh_tile)
      .bound_extent(conv.wi, tiles.ic)
      .store_in(MemoryType::GPUShared)
      .split(conv.wo, lane, vec, vector_elements)
      .vectorize(vec)
      .fuse(conv.wx, conv.wy, row)
      .fuse(row, conv.wi, row)
      .split(row, row, group, grid.threads() / lanes, TailStrategy::GuardWithIf)
      .reorder(vec, row, lane, group)
      .fuse(lane, group, grid.t)
      .gpu_threads(grid.t);
}

/** x: groups of lanes take whole rows, so that addresses need no division. */
void stage_x(DirectConv2D &conv, const ThreadGrid &grid, const DirectTiles &tiles, int width) {
  Var lane("lane"), row("row"), group("group");
  const int lanes = width <= 8 ? 8 : width <= 16 ? 16 : kLanes;
  conv.x_tile.bound_extent(conv.xw, width)
      .bound_extent(conv.xh, tiles.tile_oh + tiles.kh_tile - 1)
      .bound_extent(conv.xc, tiles.ic)
      .bound_extent(conv.xb, 1)
      .store_in(MemoryType::GPUShared)
      .split(conv.xw, conv.xw, lane, lanes, TailStrategy::GuardWithIf)
      .fuse(conv.xh, conv.xc, row)
      .split(row, row, group, grid.threads() / lanes, TailStrategy::GuardWithIf)
      .reorder(conv.xw, row, lane, group, conv.xb)
      .fuse(lane, group, grid.t)
      .gpu_threads(grid.t);
}

} // namespace

void schedule_direct_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles, Type element) {
  const ThreadGrid grid(tiles);
  _halide_user_assert(grid.threads() == tiles.warps * kLanes)
      << "warps is " << tiles.warps << ", but tiles of " << tiles.tile_oc << " oc x " << tiles.tile_oh << " oh x "
      << tiles.tile_ow << " ow with " << tiles.thread_oc << " x " << tiles.thread_oh << " x " << tiles.thread_ow
      << " a thread need " << grid.threads() << " threads";
  Func window = conv.x_tile.in(conv.acc), weights = conv.w_tile.in(conv.acc);
  never_partition({y, conv.acc, conv.x_tile, conv.w_tile, window, weights});

  const BlockLoops loops;
  split_into_blocks(conv, y, loops, tiles);
  grid.split(y, loops.in_ow, loops.in_oh, loops.in_oc, tiles);
  y.reorder(grid.ew, grid.eh, grid.ec, grid.t, loops.batch_oh, loops.ow, loops.oc)
      .gpu_threads(grid.t)
      .gpu_blocks(loops.batch_oh, loops.ow, loops.oc);

  keep_sums(conv, y, loops, tiles);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder(grid.ew, grid.eh, grid.ec, grid.t).gpu_threads(grid.t);

  RVar kh("kh"), kh_chunk("kh_chunk"), kw("kw"), kw_chunk("kw_chunk"), ic("ic"), ic_chunk("ic_chunk");
  Stage sum = conv.acc.update();
  sum.split(conv.r.z, ic_chunk, ic, tiles.ic)
      .split(conv.r.y, kh_chunk, kh, tiles.kh_tile)
      .split(conv.r.x, kw_chunk, kw, tiles.kw_tile);
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder(grid.ew, grid.eh, grid.ec, kw, kh, ic, grid.t, kw_chunk, kh_chunk, ic_chunk).gpu_threads(grid.t);

  // Vectors of the window must not cross a thread's outputs' alignment.
  const int vector_x = std::gcd(tiles.thread_ow, 4), vector_w = std::gcd(tiles.thread_oc, 16 / element.bytes());
  const int window_width = round_up(tiles.thread_ow + tiles.kw_tile - 1, vector_x);
  window.bound_extent(conv.xw, window_width)
      .bound_extent(conv.xh, tiles.thread_oh)
      .compute_at(conv.acc, kh)
      .store_in(MemoryType::Register);
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

} // namespace hconv
