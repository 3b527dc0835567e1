/** tensor_core: a warp's tile of a matrix product, written as plain SIMT loops -> mma.sync on the tensor cores. */
#pragma once

#include "matrix_tile.h"

namespace hconv {

/** Expects a kernel's body after vector_access, whose threadIdx.x runs over the 32 lanes of a warp, with a nest
 *
 *     for m..: for n..: for k in 16: for m_half in 2: for pair in 2:
 *       acc[i] = acc[i] + float(A[a]) * float(B[b])
 *
 * of constant loops, in any order, around a private array acc and shared arrays A and B of one 16-bit float type.
 * Proves, by putting every lane and every step of the tile into the addresses, that lane 4 g + q holds row g + 8 m_half
 * and columns 2 q + pair of the tile, that A does not depend on q or the columns, nor B on g or the rows, that both are
 * dense along k and that their rows are 16-byte aligned. That is the ownership of the tensor core's fragments, so the
 * nest becomes
 *
 *     fragments of A for all m, fragments of B for all n (ldmatrix, at the same addresses); mma.sync for all m and n
 *
 * The schedule is valid without this pass; it only changes the order of the sum within a tile. A nest of the requested
 * name that does not match is a compile error that says which proof failed. */
Halide::Internal::Stmt tensor_core(const Halide::Internal::Stmt &body, const TensorCoreRequest &request);

} // namespace hconv
