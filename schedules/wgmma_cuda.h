/** The schedule of the convolution for the tensor cores of a warpgroup: an implicit matrix product per tap. */
#pragma once

#include "codegen/warpgroup_mma.h"
#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"

namespace hconv {

/** Places the convolution on tensor cores, M = pixels, N = oc, K = ic.
 *
 * Grid and blocks as in schedule_direct_cuda. Here thread_oc x thread_oh x thread_ow is the tile of one warp. Its
 * pixels come in groups of 16: 16 of a row, or, where thread_ow is 8, 8 of two rows. A lane has what wgmma gives it:
 * pixels g and g + 8 of a group, channels 2 q and 2 q + 1 of each 8, lane = 4 g + q. Four warps with neighbouring
 * pixels make a warpgroup. Both x and w are staged with ic innermost; rows of x are 16 bytes longer than their data,
 * which keeps ldmatrix free of bank conflicts, and those of w are dense, as wgmma's descriptors want them. */
void schedule_wgmma_cuda(DirectConv2D &conv, Halide::Func y, const DirectTiles &tiles);

/** The loops that schedule_wgmma_cuda lays out for the warpgroup_mma pass. */
WarpgroupRequest wgmma_warpgroup();

} // namespace hconv
