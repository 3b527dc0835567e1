/** The schedule of the convolution for the tensor cores of a warpgroup: an implicit matrix product per tap. */
#pragma once

#include "codegen/warpgroup_mma.h"
#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"

namespace hconv {

/** Places the convolution on tensor cores, K = ic, with what is staged in shared memory innermost in ic.
 *
 * Grid and blocks as in schedule_direct_cuda. Here thread_oc x thread_oh x thread_ow is the tile of one warp, and four
 * neighbouring warps make a warpgroup. The tiles say which of two ways:
 *
 *     a multiple of 4 warps along oc: rows of the tensor core are channels. A warp has 16 of them, or more, and all the
 *       warpgroup's pixels, which wgmma reads by descriptor: 32 to 256 at once, neighbours in a row or 8 wide. Weights
 *       pass through registers.
 *     else: rows are pixels, 16 of a row or, where thread_ow is 8, 8 of two rows. A warp has all the warpgroup's
 *       channels, 32 to 256 at once, whose weights wgmma reads by descriptor. x passes through registers.
 *
 * With a_shared what would pass through registers is read by descriptor, too, which wants an instruction's 64 rows in 8
 * evenly spaced groups of 8: a warpgroup's warps take turns at 16 channels, or at pixels of 8 columns and 2 rows, or of
 * 16 columns. So the tile of one warp is not one rectangle.
 *
 * A lane has of each 16 rows and 8 columns what wgmma gives it: rows g and g + 8, columns 2 q and 2 q + 1, lane = 4 g +
 * q. What ldmatrix reads into registers is staged in rows 16 bytes longer than their data, against bank conflicts. */
void schedule_wgmma_cuda(DirectConv2D &conv, Halide::Func y, const DirectTiles &tiles);

/** The loops that schedule_wgmma_cuda lays out for the warpgroup_mma pass. */
WarpgroupRequest wgmma_warpgroup(const DirectTiles &tiles);

} // namespace hconv
