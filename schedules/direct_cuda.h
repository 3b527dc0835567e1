/** The CUDA schedule of the direct convolution. */
#pragma once

#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"

namespace hconv {

/** Places the direct convolution on a GPU.
 *
 * Grid: x over batch x OH tiles, y over OW tiles, z over OC tiles. A block keeps its tile_oc x tile_oh x tile_ow sums
 * in registers, thread_oc x thread_ow a thread, and walks the sum in steps of (ic channels, kh_tile x kw_tile taps)
 * whose x and w it stages in shared memory. A thread reads its window of x once a channel and kh and slides it along kw
 * in registers; its weights come as 16-byte loads that lanes of one column share. warps * 32 must be the number of
 * threads that the tiles give. */
void schedule_direct_cuda(DirectConv2D &conv, Halide::Func y, const DirectTiles &tiles, Halide::Type element);

} // namespace hconv
