/** The CPU schedule of the product of spectra. */
#pragma once

#include "generators/product_algorithm.h"

namespace hconv {

/** Sizes in complex elements; a row of variants.txt sets them. */
struct ProductCpuTiles {
  int tile_oc, tile_n; // of the register tile
};

/** Extents, known at run time only: of y, and of x's channels. */
struct ProductCpuProblem {
  Halide::Expr n, oc, channels, frequencies;
};

/** Places the product on a CPU whose vector registers hold `lanes` float32; tile_n is a multiple of lanes.
 *
 * A register tile has tile_oc x tile_n complex sums, vectors along n, and walks all channels: x comes as vectors, w as
 * broadcast scalars. Tiles of one tile_oc follow each other along n, so that their weights stay in the first cache.
 * Frequencies run in parallel, several a task where one has little work. Extents of n and oc are multiples of the
 * tile's.
 *
 * `in_blocks` (or null) is the same product with its sums in blocks; y takes it where a specialization says so, and
 * each tile's sums of all blocks lie on the stack. */
void schedule_product_cpu(SpectralProduct &product, SpectralProduct *in_blocks, Halide::Func y,
                          const ProductCpuTiles &tiles, const ProductCpuProblem &problem, int lanes);

} // namespace hconv
