#include "wgmma_cuda.h"

#include "warp_tiles.h"

using namespace Halide;

namespace hconv {

namespace {

/** How the lanes of a warp share its tile. */
struct WarpGrid : WarpTiles {
  bool two_rows; // in a group of 16 pixels

  explicit WarpGrid(const DirectTiles &t) : WarpTiles(t), two_rows(t.thread_ow == 8) {
    _halide_user_assert((two_rows ? t.thread_oh % 2 == 0 : t.thread_ow % 16 == 0) && t.thread_oc % 8 == 0)
        << "A warp's tile of " << t.thread_ow << " ow x " << t.thread_oh << " oh with " << t.thread_oc
        << " oc does not divide into groups of 16 or 8 x 2 pixels and 8 channels";
    _halide_user_assert(t.ic == 32 || t.ic == 64) << "A step has " << t.ic << " ic, expected 32 or 64";
    _halide_user_assert(warps_n() % 4 == 0) << warps_n() << " warps share the block's pixels, expected a multiple of 4";
  }

  /** With `piece`, oc counts pieces of 8 channels. */
  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &t,
             const Var *piece = nullptr) const {
    Var q("q"), g("g"), warp_ow("warp_ow"), warp_oh("warp_oh"), in_warp("in_warp"), row("row");
    s.split(ow, warp_ow, in_warp, t.thread_ow).split(oh, warp_oh, eh, t.thread_oh);
    if (two_rows)
      s.split(in_warp, mt, g, 8).split(eh, eh, m_half, 2);
    else
      s.split(in_warp, mt, in_warp, 16).split(in_warp, m_half, g, 8);
    if (piece)
      s.split(oc, warp_oc, nt, t.thread_oc / 8);
    else
      s.split(oc, warp_oc, row, t.thread_oc).split(row, nt, row, 8);
    s.split(piece ? *piece : row, q, pair, 2).fuse(q, g, lane).fuse(warp_ow, warp_oh, warp_n);
  }
};

} // namespace

void schedule_wgmma_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles) {
  const WarpGrid grid(tiles);
  never_partition({y, conv.acc, conv.x_tile, conv.w_tile});

  const BlockLoops loops;
  split_into_blocks(conv, y, loops, tiles);
  grid.split(y, loops.in_ow, loops.in_oh, loops.in_oc, tiles, tiles.nhwc ? &loops.in_piece : nullptr);
  y.reorder({grid.pair, grid.nt, grid.m_half, grid.mt, grid.eh, grid.lane, grid.warp_n, grid.warp_oc, loops.batch_oh,
             loops.ow, loops.oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc)
      .gpu_blocks(loops.batch_oh, loops.ow, loops.oc);
  if (tiles.nhwc)
    y.vectorize(grid.pair);

  keep_sums(conv, y, loops, tiles);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder({grid.pair, grid.nt, grid.m_half, grid.mt, grid.eh, grid.lane, grid.warp_n, grid.warp_oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  const StepLoops steps;
  steps.split(conv, tiles);
  Stage sum = conv.acc.update();
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder({grid.pair, grid.m_half, steps.k, grid.nt, grid.mt, grid.eh, steps.ic, steps.kw, steps.kh, grid.lane,
               grid.warp_n, grid.warp_oc, steps.kw_chunk, steps.kh_chunk, steps.ic_chunk})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  grid.stage(conv, steps.kw_chunk, tiles, tiles.ic); // dense, as wgmma's descriptors want it
}

WarpgroupRequest wgmma_warpgroup() {
  return {{"k", "m_half", "pair"}, "ic"};
}

} // namespace hconv
