#include "direct_cuda.h"

#include "block_tiles.h"
#include <algorithm>
#include <numeric>

using namespace Halide;

namespace hconv {

namespace {

int round_up(int n, int multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/** How the threads of a block share its tile. A warp is lanes_ow x lanes_oh pixels x lanes_oc channels: 4 channels
 * where the tile allows it, so that it reads few different weights, else the next number that divides; of the lanes
 * along pixels as many as possible lie along ow. Warps lie along ow, then oh, then oc. */
struct ThreadGrid {
  Var t{"t"};                          // thread
  Var ew{"ew"}, eh{"eh"}, ec{"ec"};    // outputs of one thread
  int across_ow, across_oh, across_oc; // threads
  int lanes_ow = 0, lanes_oh = 0, lanes_oc = 0;

  explicit ThreadGrid(const DirectTiles &tiles)
      : across_ow(tiles.tile_ow / tiles.thread_ow), across_oh(tiles.tile_oh / tiles.thread_oh),
        across_oc(tiles.tile_oc / tiles.thread_oc) {
    for (const int oc : {4, 8, 16, 32, 2, 1}) {
      const int pixels = kLanes / oc, ow = std::gcd(across_ow, pixels);
      if (across_oc % oc == 0 && across_oh % (pixels / ow) == 0) {
        lanes_ow = ow, lanes_oh = pixels / ow, lanes_oc = oc;
        break;
      }
    }
    _halide_user_assert(lanes_oc > 0) << "A block of " << across_ow << " (ow) x " << across_oh << " (oh) x "
                                      << across_oc << " (oc) threads does not divide into warps";
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
        .split(lane_oc, warp_oc, lane_oc, lanes_oc)
        .fuse(lane_ow, lane_oh, t)
        .fuse(t, lane_oc, t)
        .fuse(t, warp_ow, t)
        .fuse(t, warp_oh, t)
        .fuse(t, warp_oc, t);
  }
};

/** How many of the channels are copied side by side; one thread copies the same places of the others in turn, for which
 * it needs one address. Of the divisors that with the fewest instructions: about 4 a copy and 4 a place. */
int side_by_side(int places, int channels, int threads) {
  int best = 1, least = 0;
  for (int n = 1; n <= channels; n++) {
    if (channels % n != 0)
      continue;
    const int of_a_thread = (places * n + threads - 1) / threads, cost = of_a_thread * (channels / n + 1);
    if (least == 0 || cost < least)
      best = n, least = cost;
  }
  return best;
}

/** Deals the places of a tile to the threads, `side` channels of them side by side. */
void deal(Func tile, const Var &place, const Var &channel, int side, const ThreadGrid &grid) {
  Var beside("beside");
  if (side > 1)
    tile.split(channel, channel, beside, side).fuse(place, beside, place);
  tile.split(place, place, grid.t, grid.threads(), TailStrategy::GuardWithIf)
      .reorder(channel, place, grid.t)
      .gpu_threads(grid.t);
}

/** Weights: 16 bytes a copy, in the order of packed w. */
void stage_weights(DirectConv2D &conv, const ThreadGrid &grid, const DirectTiles &tiles, int vector_elements) {
  Var place("place"), vec("vec");
  const int places = tiles.tile_oc / vector_elements * tiles.kw_tile * tiles.kh_tile;
  conv.w_tile.bound_extent(conv.wo, tiles.tile_oc)
      .bound_extent(conv.wx, tiles.kw_tile)
      .bound_extent(conv.wy, tiles.kh_tile)
      .bound_extent(conv.wi, tiles.ic)
      .store_in(MemoryType::GPUShared)
      .split(conv.wo, place, vec, vector_elements)
      .vectorize(vec)
      .fuse(place, conv.wx, place)
      .fuse(place, conv.wy, place);
  deal(conv.w_tile, place, conv.wi, side_by_side(places, tiles.ic, grid.threads()), grid);
}

/** x: neighbouring threads take neighbouring pixels of the tile. */
void stage_x(DirectConv2D &conv, const ThreadGrid &grid, const DirectTiles &tiles, int width) {
  Var place("place");
  const int height = tiles.tile_oh + tiles.kh_tile - 1;
  conv.x_tile.bound_extent(conv.xw, width)
      .bound_extent(conv.xh, height)
      .bound_extent(conv.xc, tiles.ic)
      .bound_extent(conv.xb, 1)
      .store_in(MemoryType::GPUShared)
      .fuse(conv.xw, conv.xh, place);
  deal(conv.x_tile, place, conv.xc, side_by_side(width * height, tiles.ic, grid.threads()), grid);
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
