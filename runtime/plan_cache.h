// Plans of the one-call form, kept between calls.
#pragma once

#include <memory>

#include "hconv/hconv.h"

namespace hconv::runtime {

using SharedPlan = std::shared_ptr<const hconv_plan>;

/// The plan for *problem in the calling thread's current context (or the device's primary one), made if it is not among
/// the most recent ones. A plan that leaves the cache lives on until its last user lets go.
hconv_status cached_plan(const hconv_problem &problem, SharedPlan *plan);

/// Plans that the cache holds at most.
constexpr size_t plan_cache_capacity = 64;

/// Test hooks.
size_t plan_cache_size();
void clear_plan_cache();

} // namespace hconv::runtime
