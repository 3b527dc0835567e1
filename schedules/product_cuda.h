/** The CUDA schedule of the product of spectra. */
#pragma once

#include "generators/product_algorithm.h"

namespace hconv {

/** Parameters of the schedule; a row of variants.txt sets them. Sizes are in complex elements. */
struct ProductTiles {
  int tile_oc, tile_n;     // of a block
  int thread_oc, thread_n; // of a thread
  int ic;                  // channels staged at once
  int warps;               // 32 threads each
};

/** Places the product on a GPU.
 *
 * Grid: x over tiles of n, y over tiles of oc, z over frequencies, so that blocks which share operands run together. A
 * block keeps its tile's sums in registers, thread_oc x thread_n complex ones a thread, and walks the channels in steps
 * of `ic` whose x and w it stages in shared memory. Extents of n, oc and ic are multiples of the tiles. warps * 32 must
 * be the number of threads that the tiles give. */
void schedule_product_cuda(SpectralProduct &product, Halide::Func y, const ProductTiles &tiles);

} // namespace hconv
