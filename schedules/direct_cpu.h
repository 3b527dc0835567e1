/** The CPU schedule of the direct convolution. */
#pragma once

#include "direct_tiles.h"
#include "generators/conv2d_blocked.h"

namespace hconv {

/** What the CPU schedule sizes its blocks and tasks from, all known at run time only. */
struct DirectCpuProblem {
  Halide::Expr ow, oh, oc, b; // of y
  Halide::Expr packed_ic, kh, kw;
  Halide::Expr threads; // that will share the tasks; 0: not known
};

/** The blocks that the schedule wants. They depend on the shape alone, so that the sums do not depend on threads. */
ConvBlocks direct_cpu_blocks(const DirectTiles &tiles, const DirectCpuProblem &problem);

/** Places the blocked convolution on a CPU whose vector registers hold `lanes` float32.
 *
 * A task computes some rows of some output channels of an image; tasks run in parallel, and there is just one when the
 * work is too small to share. A task walks the blocks of input channels: it copies its rows of x, then adds the block's
 * partial sums to its sums in memory, thread_oc x thread_ow outputs at a time, which stay in registers throughout a
 * block. In the end the sums, OC innermost, are turned to OW innermost. tile_oc must be thread_oc. */
void schedule_direct_cpu(BlockedConv2D &conv, Halide::Func y, const DirectTiles &tiles, const DirectCpuProblem &problem,
                         Halide::Type element, int lanes);

} // namespace hconv
