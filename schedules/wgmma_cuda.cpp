#include "wgmma_cuda.h"

#include "warp_tiles.h"
#include <array>

using namespace Halide;

namespace hconv {

namespace {

/** How the lanes of a warp share its tile. The tensor core's rows are pixels or channels: g and m_half count them, q
 * and pair its columns. */
struct WarpGrid : WarpTiles {
  bool rows_are_oc;
  bool two_rows;   // of pixels, in a group of 16
  bool by_columns; // rows_are_oc: the pixels of one wgmma are 8 of many rows, not all of one row, or of more
  Var q{"q"}, g{"g"}, warp_ow{"warp_ow"}, warp_oh{"warp_oh"}, in_warp{"in_warp"}, row{"row"}, in_group{"in_group"};

  explicit WarpGrid(const DirectTiles &t)
      : WarpTiles(t), rows_are_oc(across_oc % 4 == 0), two_rows(!rows_are_oc && t.thread_ow == 8),
        by_columns(8 * t.thread_oh > t.thread_ow && (t.kw_tile > 1 || across_ow > 1)) {
    neighbours_along_oc = rows_are_oc;
    if (rows_are_oc) {
      _halide_user_assert(t.thread_oc % 16 == 0 && t.thread_ow % 8 == 0)
          << "A warp's tile of " << t.thread_oc << " oc with " << t.thread_ow
          << " ow does not divide into groups of 16 channels and 8 pixels";
    } else {
      _halide_user_assert((two_rows ? t.thread_oh % 2 == 0 : t.thread_ow % 16 == 0) && t.thread_oc % 8 == 0)
          << "A warp's tile of " << t.thread_ow << " ow x " << t.thread_oh << " oh with " << t.thread_oc
          << " oc does not divide into groups of 16 or 8 x 2 pixels and 8 channels";
    }
    _halide_user_assert(t.ic == 32 || t.ic == 64 || (t.a_shared && t.ic == 16))
        << "A step has " << t.ic << " ic, expected 32 or 64" << (t.a_shared ? ", or 16" : "");
    const int in_turn = two_rows ? across_oh : across_ow;
    _halide_user_assert(!t.a_shared || rows_are_oc || (in_turn % 4 == 0 && t.thread_ow % 8 == 0))
        << in_turn << (two_rows ? " rows" : " columns")
        << " of warps share the block's pixels, expected a multiple of 4";
    _halide_user_assert(rows_are_oc || warps_n() % 4 == 0)
        << warps_n() << " warps share the block's pixels and " << across_oc
        << " its channels, expected a multiple of 4 of either";
  }

  /** With `piece`, oc counts pieces of 8 channels. */
  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &t,
             const Var *piece = nullptr) const {
    if (t.a_shared && !rows_are_oc)
      split_pixels_in_turn(s, ow, oh, t);
    else
      split_pixels(s, ow, oh, t);
    if (t.a_shared && rows_are_oc)
      split_channels_in_turn(s, oc, t, piece);
    else
      split_channels(s, oc, t, piece);
    s.fuse(q, g, lane);
  }

  void split_pixels(Stage &s, const Var &ow, const Var &oh, const DirectTiles &t) const {
    s.split(ow, warp_ow, in_warp, t.thread_ow).split(oh, warp_oh, eh, t.thread_oh);
    if (rows_are_oc)
      s.split(in_warp, nt, in_warp, 8).split(in_warp, q, pair, 2);
    else if (two_rows)
      s.split(in_warp, mt, g, 8).split(eh, eh, m_half, 2);
    else
      s.split(in_warp, mt, in_warp, 16).split(in_warp, m_half, g, 8);
    s.fuse(warp_ow, warp_oh, warp_n);
  }

  /** The four warps of a warpgroup make 8 groups of 8 pixels that are evenly apart. */
  void split_pixels_in_turn(Stage &s, const Var &ow, const Var &oh, const DirectTiles &t) const {
    Var others("others");
    if (two_rows)
      s.split(ow, warp_ow, in_warp, 8)
          .split(in_warp, mt, g, 8)
          .split(oh, eh, m_half, 2)
          .split(eh, eh, in_group, 4)
          .split(eh, warp_oh, eh, t.thread_oh / 2);
    else
      s.split(ow, mt, in_warp, 16)
          .split(in_warp, m_half, g, 8)
          .split(mt, mt, in_group, 4)
          .split(mt, warp_ow, mt, t.thread_ow / 16)
          .split(oh, warp_oh, eh, t.thread_oh);
    s.fuse(warp_ow, warp_oh, others).fuse(in_group, others, warp_n);
  }

  void split_channels(Stage &s, const Var &oc, const DirectTiles &t, const Var *piece) const {
    s.split(oc, warp_oc, row, piece ? t.thread_oc / 8 : t.thread_oc);
    if (rows_are_oc && piece)
      s.split(row, mt, m_half, 2).rename(*piece, g);
    else if (rows_are_oc)
      s.split(row, mt, row, 16).split(row, m_half, g, 8);
    else if (piece)
      s.rename(row, nt).split(*piece, q, pair, 2);
    else
      s.split(row, nt, row, 8).split(row, q, pair, 2);
  }

  void split_channels_in_turn(Stage &s, const Var &oc, const DirectTiles &t, const Var *piece) const {
    Var others("others");
    if (piece)
      s.split(oc, mt, m_half, 2).rename(*piece, g);
    else
      s.split(oc, mt, row, 16).split(row, m_half, g, 8);
    s.split(mt, mt, in_group, 4).split(mt, others, mt, t.thread_oc / 16).fuse(in_group, others, warp_oc);
  }

  /** A lane's loops over tiles, innermost first: the first ones make the columns of one wgmma. */
  std::array<Var, 3> tiles() const {
    if (!rows_are_oc)
      return {nt, mt, eh};
    return by_columns ? std::array<Var, 3>{eh, nt, mt} : std::array<Var, 3>{nt, eh, mt};
  }
};

} // namespace

void schedule_wgmma_cuda(DirectConv2D &conv, Func y, const DirectTiles &tiles) {
  const WarpGrid grid(tiles);
  const auto [tile0, tile1, tile2] = grid.tiles();
  never_partition({y, conv.acc, conv.x_tile, conv.w_tile});

  const BlockLoops loops;
  split_into_blocks(conv, y, loops, tiles);
  grid.split(y, loops.in_ow, loops.in_oh, loops.in_oc, tiles, tiles.nhwc ? &loops.in_piece : nullptr);
  y.reorder({grid.pair, tile0, grid.m_half, tile1, tile2, grid.lane, grid.thread_y(), grid.thread_z(), loops.batch_oh,
             loops.ow, loops.oc})
      .gpu_threads(grid.lane, grid.thread_y(), grid.thread_z())
      .gpu_blocks(loops.batch_oh, loops.ow, loops.oc);
  if (tiles.nhwc && !tiles.wide_stores && !grid.rows_are_oc)
    y.vectorize(grid.pair);

  keep_sums(conv, y, loops, tiles);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, tiles);
  conv.acc.reorder({grid.pair, tile0, grid.m_half, tile1, tile2, grid.lane, grid.thread_y(), grid.thread_z()})
      .gpu_threads(grid.lane, grid.thread_y(), grid.thread_z());

  const StepLoops steps;
  steps.split(conv, tiles);
  Stage sum = conv.acc.update();
  grid.split(sum, conv.ow, conv.oh, conv.oc, tiles);
  sum.reorder({grid.pair, grid.m_half, steps.k, tile0, tile1, tile2, steps.ic, steps.kw, steps.kh, grid.lane,
               grid.thread_y(), grid.thread_z(), steps.kw_chunk, steps.kh_chunk, steps.ic_chunk})
      .gpu_threads(grid.lane, grid.thread_y(), grid.thread_z());

  // What is read by ldmatrix is padded, what is read by descriptor dense.
  const int padded = tiles.a_shared ? tiles.ic : tiles.ic + WarpTiles::kVector;
  grid.stage(conv, steps.kw_chunk, tiles, grid.rows_are_oc ? padded : tiles.ic, grid.rows_are_oc ? tiles.ic : padded);
}

WarpgroupRequest wgmma_warpgroup(const DirectTiles &tiles) {
  return {{"k", "m_half", "pair"}, "ic", tiles.a_shared};
}

} // namespace hconv
