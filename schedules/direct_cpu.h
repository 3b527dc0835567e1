/** The CPU schedule of the direct convolution. */
#pragma once

#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"

namespace hconv {

/** Places the direct convolution on a CPU: parallel over batch x OH tiles, vectorised over OC, thread_oc x thread_ow
 * sums held in registers while the sum runs. `lanes` is the number of float32 in a vector register. */
void schedule_direct_cpu(DirectConv2D &conv, Halide::Func y, const DirectTiles &tiles, int lanes);

} // namespace hconv
