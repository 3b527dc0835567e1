/** The tensor-core schedule of the convolution: an implicit matrix product per tap. */
#pragma once

#include "codegen/tensor_core.h"
#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"

namespace hconv {

/** Places the convolution on tensor cores, M = oc, N = pixels, K = ic.
 *
 * Grid and blocks as in schedule_direct_cuda. Here thread_oc x thread_oh x thread_ow is the tile of one warp, in units
 * of 16 oc and 8 ow, and each lane has of it what mma.m16n8k16 gives it: rows g and g + 8, columns 2 q and 2 q + 1 of
 * each 16 x 8 tile, lane = 4 g + q. Both x and w are staged with ic innermost; rows are 16 bytes longer than their
 * data, which keeps ldmatrix free of bank conflicts. */
void schedule_mma_cuda(DirectConv2D &conv, Halide::Func y, const DirectTiles &tiles);

/** The loops that schedule_mma_cuda lays out for the tensor_core pass. */
TensorCoreRequest mma_tensor_core();

} // namespace hconv
