#include "mma_cuda.h"

#include "block_tiles.h"

using namespace Halide;

namespace hconv {

namespace {

constexpr int kVector = 8; // 16-bit elements of a 16-byte copy

/** How a block's warps share its tile, and the lanes of a warp theirs. */
struct WarpGrid {
  Var lane{"lane"}, warp_n{"warp_n"}, warp_oc{"warp_oc"};           // thread indices
  Var pair{"pair"}, m_half{"m_half"}, nt{"nt"}, eh{"eh"}, mt{"mt"}; // sums of one lane
  int across_ow, across_oh, across_oc;                              // warps

  explicit WarpGrid(const DirectTiles &t)
      : across_ow(t.tile_ow / t.thread_ow), across_oh(t.tile_oh / t.thread_oh), across_oc(t.tile_oc / t.thread_oc) {
    _halide_user_assert(t.thread_oc % 16 == 0 && t.thread_ow % 8 == 0 && t.ic % 16 == 0)
        << "A warp's tile of " << t.thread_oc << " oc x " << t.thread_ow << " ow with " << t.ic
        << " ic a step does not divide into tiles of 16 x 8 x 16";
    _halide_user_assert(warps() == t.warps) << "warps is " << t.warps << ", but the tiles need " << warps();
  }

  int warps_n() const { return across_ow * across_oh; }
  int warps() const { return warps_n() * across_oc; }

  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &t) const {
    Var q("q"), g("g"), warp_ow("warp_ow"), warp_oh("warp_oh"), in_warp("in_warp"), row("row");
    s.split(ow, warp_ow, in_warp, t.thread_ow)
        .split(in_warp, nt, in_warp, 8)
        .split(in_warp, q, pair, 2)
        .split(oh, warp_oh, eh, t.thread_oh)
        .split(oc, warp_oc, row, t.thread_oc)
        .split(row, mt, row, 16)
        .split(row, m_half, g, 8)
        .fuse(q, g, lane)
        .fuse(warp_ow, warp_oh, warp_n);
  }

  /** Spreads rows of `width` channels over all threads, 16 bytes each. */
  void stage(Func staged, const Var &channel, const Var &a, const Var &b, int width) const {
    Var vec("vec"), part("part"), row("row"), group("group"), t("t");
    const int parts = width / kVector;
    staged.store_in(MemoryType::GPUShared)
        .split(channel, part, vec, kVector)
        .vectorize(vec)
        .fuse(a, b, row)
        .split(row, row, group, warps() * kLanes / parts, TailStrategy::GuardWithIf)
        .fuse(part, group, t)
        .split(t, t, lane, kLanes)
        .split(t, warp_oc, warp_n, warps_n())
        .reorder(vec, row, lane, warp_n, warp_oc)
        .gpu_threads(lane, warp_n, warp_oc);
  }
};

} // namespace

void schedule_mma_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles) {
  const WarpGrid grid(tiles);
  never_partition({y, conv.acc, conv.x_tile, conv.w_tile});

  const BlockLoops loops;
  split_into_blocks(conv, y, loops, tiles);
  grid.split(y, loops.in_ow, loops.in_oh, loops.in_oc, tiles);
  y.reorder({grid.pair, grid.nt, grid.eh, grid.m_half, grid.mt, grid.lane, grid.warp_n, grid.warp_oc, loops.batch_oh,
             loops.ow, loops.oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc)
      .gpu_blocks(loops.batch_oh, loops.ow, loops.oc);

  keep_sums(conv, y, loops, tiles);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder({grid.pair, grid.nt, grid.eh, grid.m_half, grid.mt, grid.lane, grid.warp_n, grid.warp_oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  RVar kh("kh"), kh_chunk("kh_chunk"), kw("kw"), kw_chunk("kw_chunk"), ic("ic"), ic_chunk("ic_chunk"), k("k");
  Stage sum = conv.acc.update();
  sum.split(conv.r.z, ic_chunk, ic, tiles.ic)
      .split(ic, ic, k, 16)
      .split(conv.r.y, kh_chunk, kh, tiles.kh_tile)
      .split(conv.r.x, kw_chunk, kw, tiles.kw_tile);
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder({grid.pair, grid.m_half, k, grid.nt, grid.eh, grid.mt, ic, kw, kh, grid.lane, grid.warp_n, grid.warp_oc,
               kw_chunk, kh_chunk, ic_chunk})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  const int pitch = tiles.ic + kVector;
  conv.w_tile.bound_extent(conv.wo, tiles.tile_oc)
      .bound_extent(conv.wx, tiles.kw_tile)
      .bound_extent(conv.wy, tiles.kh_tile)
      .bound_extent(conv.wi, tiles.ic)
      .reorder_storage(conv.wi, conv.wo, conv.wx, conv.wy)
      .align_storage(conv.wi, pitch)
      .compute_at(conv.acc, kw_chunk)
      .fuse(conv.wo, conv.wx, conv.wo);
  grid.stage(conv.w_tile, conv.wi, conv.wo, conv.wy, tiles.ic);

  conv.x_tile.bound_extent(conv.xw, tiles.tile_ow + tiles.kw_tile - 1)
      .bound_extent(conv.xh, tiles.tile_oh + tiles.kh_tile - 1)
      .bound_extent(conv.xc, tiles.ic)
      .bound_extent(conv.xb, 1)
      .reorder_storage(conv.xc, conv.xw, conv.xh, conv.xb)
      .align_storage(conv.xc, pitch)
      .compute_at(conv.acc, kw_chunk);
  grid.stage(conv.x_tile, conv.xc, conv.xw, conv.xh, tiles.ic);
}

TensorCoreRequest mma_tensor_core() {
  return {"k", "m_half", "pair"};
}

} // namespace hconv
