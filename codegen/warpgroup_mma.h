/** warpgroup_mma: a warpgroup's tile of a matrix product, written as plain SIMT loops -> wgmma (sm_90a). */
#pragma once

#include "matrix_tile.h"

namespace hconv {

/** What a schedule asks for: the loops of one tile, and the loop around them that walks a staged row of B in steps of
 * 16. "" asks for nothing. */
struct WarpgroupRequest {
  TensorCoreRequest tile;
  std::string step; // its extent is even: the fragments of one half are loaded while the other half is multiplied
  bool a_shared =
      false; // A is read by descriptor, too; then the extent may be any, and a loop of one step may be missing
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
 * With `a_shared` A's rows must be what a descriptor can describe as well. There are no fragments then, and nothing
 * within a step to wait for: the nest becomes the products alone, and pipeline makes one group of those of a step
 * (PipelineRequest::one_group); without it this pass puts fence, commit and wait around each nest.
 *
 * B's rows, and A's with `a_shared`, get the layout that their descriptor describes (operand_layout.h), in every access
 * of them. A nest of the requested names that does not match is a compile error that says which proof failed. */
void warpgroup_mma(CudaKernel &kernel, const WarpgroupRequest &request, bool pipelined);

} // namespace hconv
