#include "block_tiles.h"

using namespace Halide;

namespace hconv {

void split_into_blocks(DirectConv2D &conv, Func y, const BlockLoops &loops, const DirectTiles &tiles) {
  Var oh_block("oh_block");
  y.split(conv.ow, loops.ow, loops.in_ow, tiles.tile_ow, TailStrategy::GuardWithIf);
  if (tiles.nhwc)
    y.split(conv.oc, conv.oc, loops.in_piece, 8, TailStrategy::RoundUp)
        .split(conv.oc, loops.oc, loops.in_oc, tiles.tile_oc / 8, TailStrategy::GuardWithIf);
  else
    y.split(conv.oc, loops.oc, loops.in_oc, tiles.tile_oc, TailStrategy::GuardWithIf);
  y.split(conv.oh, oh_block, loops.in_oh, tiles.tile_oh, TailStrategy::GuardWithIf)
      .fuse(oh_block, conv.b, loops.batch_oh);
  if (conv.split)
    y.fuse(loops.batch_oh, conv.s, loops.batch_oh);
}

void keep_sums(DirectConv2D &conv, Func y, const BlockLoops &loops, const DirectTiles &tiles) {
  conv.acc.bound_extent(conv.ow, tiles.tile_ow)
      .bound_extent(conv.oh, tiles.tile_oh)
      .bound_extent(conv.oc, tiles.tile_oc)
      .bound_extent(conv.b, 1)
      .compute_at(y, loops.batch_oh)
      .store_in(MemoryType::Register);
  if (conv.split)
    conv.acc.bound_extent(conv.s, 1);
}

} // namespace hconv
