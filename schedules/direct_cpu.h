/** The CPU schedule of the direct convolution. */
#pragma once

#include "direct_tiles.h"
#include "generators/conv2d_blocked.h"

namespace hconv {

/** Extents of a task's part of y, at least 1 each, known at run time only (runtime/cpu_tasks.cpp chooses them). */
struct DirectCpuTasks {
  Halide::Expr rows, channels, images; // channels are whole tiles
};

/** Rows of `ow` outputs, sums of `channels` input channels each. */
ConvBlocks direct_cpu_blocks(const DirectTiles &tiles, const Halide::Expr &ow, const Halide::Expr &channels);

/** Places the blocked convolution on a CPU whose vector registers hold `lanes` float32.
 *
 * A task computes some rows of some output channels of some images; all tasks are one parallel loop. A task walks the
 * blocks of input channels: it copies its rows of x, then adds the block's partial sums to its sums in memory,
 * thread_oc x thread_ow outputs at a time, which stay in registers throughout a block. In the end the sums, OC
 * innermost, are turned to OW innermost. tile_oc must be thread_oc. */
void schedule_direct_cpu(BlockedConv2D &conv, Halide::Func y, const DirectTiles &tiles, const DirectCpuTasks &tasks,
                         const Halide::Expr &taps, Halide::Type element, int lanes);

} // namespace hconv
