/** Small pipelines that show one feature of the back end each. Build them inside a question (child.h). */
#pragma once

#include "Halide.h"

namespace hconv_test {

/** y(i) = 2 * x(i), 64 threads a block, the tail behind an if. */
Halide::Func scaled();

/** As scaled(), four elements a thread in one vector; `aligned` promises x's and y's alignment to 16 bytes. */
Halide::Func scaled_vectors(bool aligned, Halide::Type type = Halide::Float(32));

/** c(i, j) += a(k, j) * b(i, k), staged in shared memory, 2 x 4 sums a thread in registers: the shape of a convolution.
 */
Halide::Func matmul(Halide::Type type = Halide::Float(32));

/** c(n, m) += a(k, m) * b(k, n), in float32: 64 x 8 n_tiles x 32 elements of a 16-bit type, scheduled for the tensor
 * cores as schedules/mma_cuda does. A block is one warp with 32 x 8 n_tiles sums, and steps of 16 along k are loop
 * "chunk"; the tile's loops are "k", "m_half" and "pair". */
Halide::Func mma_matmul(Halide::Type type, int n_tiles);

/** c(n, m) = sum over k and t of a(k, m + t) * b(k, n, t), or with `b_moves` a(k, m, t) * b(k, n + t), t counting
 * `taps`: 64 m x 128 n x 64 k of a 16-bit type, scheduled for wgmma as schedules/wgmma_cuda does. A block is one
 * warpgroup with 64 m x 64 n, and steps of 32 along k are loop "chunk"; in one, loop "step" counts 16. The tile's loops
 * are those of mma_matmul. */
Halide::Func wgmma_product(Halide::Type type, int taps, bool b_moves = false, bool a_dense = false);

} // namespace hconv_test
