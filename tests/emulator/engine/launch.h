// Runs all blocks of a grid, spread over host threads.
#pragma once

#include "block_runner.h"

namespace hconv::emulator {

/// Blocks until the grid is done; empty when all went well. With more than one failing block, the first failure that
/// was seen is returned and the blocks not yet begun are skipped. `arguments[i]` points at a value of the kernel's i-th
/// type. `seed` and the block's number alone decide the order of a block's threads, whatever the number of host
/// threads.
std::optional<LaunchFailure> run_grid(const LaunchShape &launch, int host_threads, uint64_t seed);

} // namespace hconv::emulator
