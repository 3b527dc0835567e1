/** warpgroup_mma: a warpgroup's tile of a matrix product, written as plain SIMT loops -> wgmma (sm_90a). */
#pragma once

#include "matrix_tile.h"

namespace hconv {

/** What a schedule asks for: the loops of one tile, and the loop around them that walks a staged row of B in steps of
 * 16. "" asks for nothing. */
struct WarpgroupRequest {
  TensorCoreRequest tile;
  std::string step; // its extent is even: the fragments of one half are loaded while the other half is multiplied
};

/** Expects what tensor_core does, inside a loop over steps of k:
 *
 *     for step in E: for m..: for n..: for k in 16: for m_half in 2: for pair in 2:
 *       acc[i] = acc[i] + float(A[a]) * float(B[b])
 *
 * in warps of which four neighbours, threadIdx.y = 4 w ... 4 w + 3, make a warpgroup. Besides the ownership that
 * tensor_core proves, B's columns must be what descriptors can describe (warpgroup_operand.h). Then the nest becomes,
 * for each half of the steps,
 *
 *     fragments of A for all m (ldmatrix); one wgmma of 64 x N x 16 for each step, m and N columns; commit; wait
 *
 * where the wait leaves the newest group under way. With `pipelined` the last group of the nest stays so, too: what B's
 * array holds must not change before the next nest's first wait, which is pipeline's to keep (PipelineRequest::wgmma),
 * as is the fence between the writes of B and these reads, which belong to another proxy. Without it this pass puts in
 * both. The producer of the sums ends with a wait for everything.
 *
 * B's rows get the layout that its descriptor describes (operand_layout.h), in every access of them. A nest of the
 * requested names that does not match is a compile error that says which proof failed. */
void warpgroup_mma(CudaKernel &kernel, const WarpgroupRequest &request, bool pipelined);

} // namespace hconv
