/** What the GPU schedules of the direct convolution share: how the output is cut into blocks, and where a block's sums
 * live.
 */
#pragma once

#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"
#include "gpu_loops.h"

namespace hconv {

/** Loops of the output: over blocks, and inside one block. */
struct BlockLoops {
  Halide::Var batch_oh{"batch_oh"}, ow{"ow_block"}, oc{"oc_block"}; // blocks: grid x, y and z
  Halide::Var in_ow{"ow_in"}, in_oh{"oh_in"}, in_oc{"oc_in"};       // outputs of a block
  Halide::Var in_piece{"oc_in_piece"}; // NHWC: in_oc counts pieces of 8 channels, of which this is one
};

/** Cuts y into blocks of tile_oc x tile_oh x tile_ow. Only the grid's x may exceed 65535 blocks, so it is batch x OH;
 * neighbours in x share weights and rows of x. Of NHWC whole pieces of 8 channels are guarded. Of a split sum the
 * slices are part of x, too, and outermost. */
void split_into_blocks(DirectConv2D &conv, Halide::Func y, const BlockLoops &loops, const DirectTiles &tiles);

/** Keeps the sums of one block in registers, from its first to its last step. */
void keep_sums(DirectConv2D &conv, Halide::Func y, const BlockLoops &loops, const DirectTiles &tiles);

} // namespace hconv
