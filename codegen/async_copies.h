/** async_copies: copies from global to shared memory, made asynchronous. */
#pragma once

#include "kernel_arrays.h"

namespace hconv {

/** Expects a statement that fills shared arrays, after vector_access. Of its copies, these become asynchronous:
 *
 *     store_aligned(shared, load_aligned(global)) of 16 bytes           -> cp_async16
 *     shared[i] = condition ? global[j] : 0 (or no condition), 4 bytes  -> cp_async4, zero filled where the condition
 *                                                                          fails
 *
 * Everything else (16-bit elements, conversions) stays a plain copy. Nothing here commits or waits. */
Halide::Internal::Stmt async_copies(const Halide::Internal::Stmt &staging, const KernelArrays &arrays);

} // namespace hconv
