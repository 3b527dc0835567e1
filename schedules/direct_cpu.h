/** The CPU schedule of the direct convolution. */
#pragma once

#include "direct_tiles.h"
#include "generators/conv2d_algorithm.h"

namespace hconv {

/** Extents that the CPU schedule sizes its tasks from, all known at run time only. */
struct DirectCpuExtents {
  Halide::Expr ow, oh, oc, b, packed_ic, kh, kw;
};

void schedule_direct_cpu(DirectConv2D &conv, Halide::Func y, const DirectTiles &tiles, const DirectCpuExtents &extents,
                         int lanes);

} // namespace hconv
