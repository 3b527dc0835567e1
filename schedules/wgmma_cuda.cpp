#include "wgmma_cuda.h"

using namespace Halide;

namespace hconv {

namespace {

constexpr int kLanes = 32;
constexpr int kVector = 8; // 16-bit elements of a 16-byte copy

/** How a block's warps share its tile, and the lanes of a warp theirs. */
struct WarpGrid {
  Var lane{"lane"}, warp_n{"warp_n"}, warp_oc{"warp_oc"};           // thread indices
  Var pair{"pair"}, m_half{"m_half"}, nt{"nt"}, mt{"mt"}, eh{"eh"}; // sums of one lane
  int across_ow, across_oh, across_oc;                              // warps
  bool two_rows;                                                    // in a group of 16 pixels

  explicit WarpGrid(const DirectTiles &t)
      : across_ow(t.tile_ow / t.thread_ow), across_oh(t.tile_oh / t.thread_oh), across_oc(t.tile_oc / t.thread_oc),
        two_rows(t.thread_ow == 8) {
    _halide_user_assert((two_rows ? t.thread_oh % 2 == 0 : t.thread_ow % 16 == 0) && t.thread_oc % 8 == 0)
        << "A warp's tile of " << t.thread_ow << " ow x " << t.thread_oh << " oh with " << t.thread_oc
        << " oc does not divide into groups of 16 or 8 x 2 pixels and 8 channels";
    _halide_user_assert(t.ic == 32 || t.ic == 64) << "A step has " << t.ic << " ic, expected 32 or 64";
    _halide_user_assert(warps_n() % 4 == 0) << warps_n() << " warps share the block's pixels, expected a multiple of 4";
    _halide_user_assert(warps() == t.warps) << "warps is " << t.warps << ", but the tiles need " << warps();
  }

  int warps_n() const { return across_ow * across_oh; }
  int warps() const { return warps_n() * across_oc; }

  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &t) const {
    Var q("q"), g("g"), warp_ow("warp_ow"), warp_oh("warp_oh"), in_warp("in_warp"), row("row");
    s.split(ow, warp_ow, in_warp, t.thread_ow).split(oh, warp_oh, eh, t.thread_oh);
    if (two_rows)
      s.split(in_warp, mt, g, 8).split(eh, eh, m_half, 2);
    else
      s.split(in_warp, mt, in_warp, 16).split(in_warp, m_half, g, 8);
    s.split(oc, warp_oc, row, t.thread_oc)
        .split(row, nt, row, 8)
        .split(row, q, pair, 2)
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

void schedule_wgmma_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles) {
  const WarpGrid grid(tiles);
  for (Func f : {y, conv.acc, conv.x_tile, conv.w_tile}) {
    f.never_partition_all();
    for (int i = 0; i < f.num_update_definitions(); i++)
      f.update(i).never_partition_all();
  }

  Var ow_block("ow_block"), oh_block("oh_block"), oc_block("oc_block"), batch_oh("batch_oh");
  Var ow("ow_in"), oh("oh_in"), oc("oc_in");
  y.split(conv.ow, ow_block, ow, tiles.tile_ow, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_block, oc, tiles.tile_oc, TailStrategy::GuardWithIf)
      .split(conv.oh, oh_block, oh, tiles.tile_oh, TailStrategy::GuardWithIf)
      .fuse(oh_block, conv.b, batch_oh);
  grid.split(y, ow, oh, oc, tiles);
  y.reorder({grid.pair, grid.nt, grid.m_half, grid.mt, grid.eh, grid.lane, grid.warp_n, grid.warp_oc, batch_oh,
             ow_block, oc_block})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc)
      .gpu_blocks(batch_oh, ow_block, oc_block);

  conv.acc.bound_extent(conv.ow, tiles.tile_ow)
      .bound_extent(conv.oh, tiles.tile_oh)
      .bound_extent(conv.oc, tiles.tile_oc)
      .bound_extent(conv.b, 1)
      .compute_at(y, batch_oh)
      .store_in(MemoryType::Register);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder({grid.pair, grid.nt, grid.m_half, grid.mt, grid.eh, grid.lane, grid.warp_n, grid.warp_oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  RVar kh("kh"), kh_chunk("kh_chunk"), kw("kw"), kw_chunk("kw_chunk"), ic("ic"), ic_chunk("ic_chunk"), k("k");
  Stage sum = conv.acc.update();
  sum.split(conv.r.z, ic_chunk, ic, tiles.ic)
      .split(ic, ic, k, 16)
      .split(conv.r.y, kh_chunk, kh, tiles.kh_tile)
      .split(conv.r.x, kw_chunk, kw, tiles.kw_tile);
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder({grid.pair, grid.m_half, k, grid.nt, grid.mt, grid.eh, ic, kw, kh, grid.lane, grid.warp_n, grid.warp_oc,
               kw_chunk, kh_chunk, ic_chunk})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  conv.w_tile.bound_extent(conv.wo, tiles.tile_oc)
      .bound_extent(conv.wx, tiles.kw_tile)
      .bound_extent(conv.wy, tiles.kh_tile)
      .bound_extent(conv.wi, tiles.ic)
      .reorder_storage(conv.wi, conv.wo, conv.wx, conv.wy)
      .compute_at(conv.acc, kw_chunk)
      .fuse(conv.wo, conv.wx, conv.wo);
  grid.stage(conv.w_tile, conv.wi, conv.wo, conv.wy, tiles.ic);

  conv.x_tile.bound_extent(conv.xw, tiles.tile_ow + tiles.kw_tile - 1)
      .bound_extent(conv.xh, tiles.tile_oh + tiles.kh_tile - 1)
      .bound_extent(conv.xc, tiles.ic)
      .bound_extent(conv.xb, 1)
      .reorder_storage(conv.xc, conv.xw, conv.xh, conv.xb)
      .align_storage(conv.xc, tiles.ic + kVector)
      .compute_at(conv.acc, kw_chunk);
  grid.stage(conv.x_tile, conv.xc, conv.xw, conv.xh, tiles.ic);
}

WarpgroupRequest wgmma_warpgroup() {
  return {{"k", "m_half", "pair"}, "ic"};
}

} // namespace hconv
