/** What the schedules for tensor cores share: the warps of a block, the steps of its sums, and how x and w are staged.
 */
#pragma once

#include "block_tiles.h"

namespace hconv {

/** How a block's warps share its tile; thread_oc x thread_oh x thread_ow is the tile of one. */
struct WarpTiles {
  static constexpr int kVector = 8; // 16-bit elements of a 16-byte copy

  Halide::Var lane{"lane"}, warp_n{"warp_n"}, warp_oc{"warp_oc"};           // thread indices
  Halide::Var pair{"pair"}, m_half{"m_half"}, nt{"nt"}, mt{"mt"}, eh{"eh"}; // sums of one lane
  int across_ow, across_oh, across_oc;                                      // warps
  bool neighbours_along_oc = false; // warps of neighbouring threadIdx.y share pixels, not channels

  /** A compile error where the warps that the tiles need are not tiles.warps. */
  explicit WarpTiles(const DirectTiles &tiles);

  int warps_n() const { return across_ow * across_oh; }
  int warps() const { return warps_n() * across_oc; }

  /** The loops of threadIdx.y and z; lane is threadIdx.x. */
  const Halide::Var &thread_y() const { return neighbours_along_oc ? warp_oc : warp_n; }
  const Halide::Var &thread_z() const { return neighbours_along_oc ? warp_n : warp_oc; }

  /** Stages w and x at each step, ic innermost, 16 bytes a thread. Rows hold `w_pitch` and `x_pitch` elements; 16 bytes
   * more than their data keep ldmatrix free of bank conflicts. */
  void stage(DirectConv2D &conv, const Halide::RVar &step, const DirectTiles &tiles, int w_pitch, int x_pitch) const;

private:
  void spread(Halide::Func staged, const Halide::Var &channel, const Halide::Var &a, const Halide::Var &b,
              int width) const;
};

/** Loops of the reduction: over steps, each of which stages x and w, and inside one step; k is 16 channels. */
struct StepLoops {
  Halide::RVar kh{"kh"}, kh_chunk{"kh_chunk"}, kw{"kw"}, kw_chunk{"kw_chunk"}, ic{"ic"}, ic_chunk{"ic_chunk"}, k{"k"};

  void split(DirectConv2D &conv, const DirectTiles &tiles) const;
};

} // namespace hconv
