/** stock_shared: shared memory of Halide's own PTX back end, moved out of the system's part. */
#pragma once

#include "Halide.h"

namespace hconv {

/** Halide's PTX back end addresses dynamic shared memory from 0. From compute capability 8.0 on the first KiB of a
 * block's shared memory is the system's, and the launch's memory starts behind it.
 *
 * Makes every GPUShared allocation 1 KiB larger and moves all of its accesses up by as much, which is right wherever
 * the launch's memory starts. */
Halide::Internal::Stmt stock_shared(const Halide::Internal::Stmt &host);

/** Adds that pass to a pipeline that Halide's back end compiles; the CUDA back end of cuda_backend.h needs none of it.
 */
void install_stock_shared(Halide::Pipeline &pipeline);

} // namespace hconv
