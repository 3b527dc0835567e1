/** What all GPU schedules share. */
#pragma once

#include "Halide.h"
#include <vector>

namespace hconv {

constexpr int kLanes = 32; // of a warp

/** Keeps Halide from duplicating whole kernels for their borders. */
void never_partition(const std::vector<Halide::Func> &funcs);

} // namespace hconv
