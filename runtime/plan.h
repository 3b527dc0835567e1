// A plan: one accepted problem, the variant that computes it, and on CUDA the context that its kernels are loaded in.
#pragma once

#include <string>

#include "cuda/context.h"
#include "dispatch.h"
#include "problem.h"
#include "run_context.h"

struct hconv_plan {
  hconv_problem problem;
  hconv::runtime::Geometry geometry;
  const hconv::runtime::Variant *variant;
  const hconv::runtime::Variant *pack;
  hconv::runtime::PackedExtents packed;
  size_t packed_bytes;
  size_t workspace_bytes;
  int64_t launch_batch; ///< images of one launch, so that each launch stays below 2^31 elements
  hconv::runtime::cuda::ContextRef context;

  hconv_plan() = default;
  hconv_plan(const hconv_plan &) = delete;
  hconv_plan &operator=(const hconv_plan &) = delete;
  ~hconv_plan() { hconv::runtime::cuda::release_context(&context); }

  bool on_cuda() const { return hconv::runtime::raw(problem.device.device_type) == kDLCUDA; }
};

namespace hconv::runtime {

/// Images of one launch: one or more, with all of x and y in fewer than 2^30 elements where that is possible. (Half of
/// the 2^31 that kernels can index, so that tiles which reach over the edge stay in range as well.)
int64_t launch_batch(const Geometry &geometry);

/// Calls the plan's functions on addresses that have been checked; device addresses on CUDA, whose context is current.
hconv_status call_pack(const hconv_plan &plan, RunContext *run, const void *w, void *packed);
hconv_status call_conv(const hconv_plan &plan, RunContext *run, const void *x, const void *packed, const void *bias,
                       void *y, int64_t batch);

/// HCONV_CHECK=1: waits for the stream and compares y with a float64 reference; packed weights with w.
hconv_status check_result(const hconv_plan &plan, const DLTensor &x, const void *packed, const DLTensor *bias,
                          const DLTensor &y, void *stream);
hconv_status check_packed_weights(const hconv_plan &plan, const DLTensor &w, const void *packed, void *stream);

} // namespace hconv::runtime
