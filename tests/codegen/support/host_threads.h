/** Runs a kernel's CUDA text as host threads, one a thread of the block. */
#pragma once

namespace hconv_test {

/** C++ that comes behind the prelude: shared memory and a barrier, and run_blocks(blocks, lanes, warps, kernel), which
 * calls kernel() for each block in turn by lanes x warps threads at once. Wants -pthread. */
extern const char *const kHostThreads;

} // namespace hconv_test
