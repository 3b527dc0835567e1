// Split variants (`split=1` in the manifest): blocks add up slices of the input channels, so that a problem with few
// outputs fills the device, and sum_parts adds up the float32 parts in order.
//
//     parts[B,S,OC,OH,OW] in the workspace, behind the packed input; y = T(parts[0] + ... + parts[S-1] + bias)
#pragma once

#include <string>
#include <vector>

#include "dispatch.h"
#include "layout.h"

namespace hconv::runtime {

/// S is at most this: more parts cost more bytes than they save time.
constexpr int64_t most_parts = 64;

/// Steps of ic channels in the whole sum. S must divide them, so that every part has the same number.
int64_t channel_steps(const hconv_problem &problem, const Variant &variant);

/// Why a split variant cannot add up `problem` in that many parts; "" if it can.
std::string why_not_parts(const Variant &variant, const hconv_problem &problem, int64_t parts);

/// All S that a split variant can have, ascending; 1 at least.
std::vector<int64_t> possible_parts(const Variant &variant, const hconv_problem &problem);

/// The S of the least cost; of equals the smallest.
int64_t parts_for(const Variant &variant, const hconv_problem &problem, const Machine &machine);

/// What a split variant takes in that many parts: its blocks, the time to fill their pipelines once a wave, the parts'
/// way to memory and back, and the second launch.
Cost split_cost_of(const Variant &variant, int64_t parts, const hconv_problem &problem, const Machine &machine);

/// What stands behind the '+' of a pin or of a tuned entry. "" or what is wrong with it.
std::string read_parts(const std::string &word, const Variant &variant, const hconv_problem &problem, int64_t *parts);

} // namespace hconv::runtime
