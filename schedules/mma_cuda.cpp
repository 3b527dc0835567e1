#include "mma_cuda.h"

#include "warp_tiles.h"

using namespace Halide;

namespace hconv {

namespace {

/** How the lanes of a warp share its tile. */
struct WarpGrid : WarpTiles {
  bool rows_are_pixels; // of NHWC: a lane's pairs of columns are neighbours in memory
  bool two_rows;        // then, in a group of 16 pixels

  explicit WarpGrid(const DirectTiles &t)
      : WarpTiles(t), rows_are_pixels(t.nhwc), two_rows(t.nhwc && t.thread_ow == 8) {
    const int m = two_rows ? 2 * t.thread_oh : rows_are_pixels ? t.thread_ow : t.thread_oc; // whole 16s, or 2s
    const int n = rows_are_pixels ? t.thread_oc : t.thread_ow;
    _halide_user_assert(m % (two_rows ? 4 : 16) == 0 && n % 8 == 0 && t.ic % 16 == 0)
        << "A warp's tile of " << t.thread_oc << " oc x " << t.thread_ow << " ow with " << t.ic
        << " ic a step does not divide into tiles of 16 x 8 x 16";
  }

  /** With `piece`, oc counts pieces of 8 channels. */
  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &t,
             const Var *piece = nullptr) const {
    Var q("q"), g("g"), warp_ow("warp_ow"), warp_oh("warp_oh"), in_warp("in_warp"), row("row");
    s.split(ow, warp_ow, in_warp, t.thread_ow).split(oh, warp_oh, eh, t.thread_oh);
    if (!rows_are_pixels) {
      s.split(in_warp, nt, in_warp, 8)
          .split(in_warp, q, pair, 2)
          .split(oc, warp_oc, row, t.thread_oc)
          .split(row, mt, row, 16)
          .split(row, m_half, g, 8);
    } else {
      if (two_rows)
        s.split(in_warp, mt, g, 8).split(eh, eh, m_half, 2);
      else
        s.split(in_warp, mt, in_warp, 16).split(in_warp, m_half, g, 8);
      if (piece)
        s.split(oc, warp_oc, nt, t.thread_oc / 8);
      else
        s.split(oc, warp_oc, row, t.thread_oc).split(row, nt, row, 8);
      s.split(piece ? *piece : row, q, pair, 2);
    }
    s.fuse(q, g, lane).fuse(warp_ow, warp_oh, warp_n);
  }
};

} // namespace

void schedule_mma_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles) {
  const WarpGrid grid(tiles);
  never_partition({y, conv.acc, conv.x_tile, conv.w_tile});

  const BlockLoops loops;
  split_into_blocks(conv, y, loops, tiles);
  grid.split(y, loops.in_ow, loops.in_oh, loops.in_oc, tiles, tiles.nhwc ? &loops.in_piece : nullptr);
  y.reorder({grid.pair, grid.nt, grid.eh, grid.m_half, grid.mt, grid.lane, grid.warp_n, grid.warp_oc, loops.batch_oh,
             loops.ow, loops.oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc)
      .gpu_blocks(loops.batch_oh, loops.ow, loops.oc);
  if (tiles.nhwc && !tiles.wide_stores)
    y.vectorize(grid.pair);

  keep_sums(conv, y, loops, tiles);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder({grid.pair, grid.nt, grid.eh, grid.m_half, grid.mt, grid.lane, grid.warp_n, grid.warp_oc})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  const StepLoops steps;
  steps.split(conv, tiles);
  Stage sum = conv.acc.update();
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder({grid.pair, grid.m_half, steps.k, grid.nt, grid.eh, grid.mt, steps.ic, steps.kw, steps.kh, grid.lane,
               grid.warp_n, grid.warp_oc, steps.kw_chunk, steps.kh_chunk, steps.ic_chunk})
      .gpu_threads(grid.lane, grid.warp_n, grid.warp_oc);

  const int pitch = tiles.ic + WarpTiles::kVector;
  grid.stage(conv, steps.kw_chunk, tiles, pitch, pitch);
}

TensorCoreRequest mma_tensor_core() {
  return {"k", "m_half", "pair"};
}

} // namespace hconv
