#include <algorithm>
#include <optional>

#include "error.h"
#include "memory.h"
#include "plan.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

/// Makes the plan's context current on CUDA; nothing on the CPU.
class PlanScope {
public:
  explicit PlanScope(const hconv_plan &plan) {
    if (plan.on_cuda())
      scope_.emplace(plan.context.handle);
  }
  hconv_status status() const { return scope_ ? cuda::check(scope_->result(), "cuCtxPushCurrent") : HCONV_OK; }

private:
  std::optional<cuda::ContextScope> scope_;
};

/// On the CPU: who computes, and with which scratch memory.
void share_out(const hconv_plan &plan, Scratch workspace, RunContext *run) {
  if (plan.on_cuda())
    return;
  // Of transform the workspace holds spectra.
  const size_t converted = std::min(workspace.bytes, static_cast<size_t>(plan.conversion.bytes()));
  const int pieces = plan.cuts_tasks() ? pieces_in(plan.tasks, workspace.bytes - converted) : 0;
  run->use_threads(plan.pool, pieces ? pieces : plan.tasks.threads, &plan.tasks,
                   pieces ? static_cast<char *>(workspace.address) + converted : nullptr,
                   pieces ? plan.tasks.task_bytes : 0);
}

/// Of transform, which reads row-major weights: takes a copy of w from the stream's pool.
hconv_status pack_channels_last(const hconv_plan &plan, RunContext *run, const void *w, void *packed, void *stream) {
  if (!plan.transpose)
    return fail(HCONV_UNSUPPORTED, "w is laid out channels last, and no transpose kernel is compiled; expected "
                                   "row-major weights.");
  const hconv_problem &p = plan.problem;
  const int64_t bytes = p.out_channels * plan.geometry.products * plan.geometry.element_bytes;
  void *copy = nullptr;
  if (hconv_status bad = scratch_allocate(p.device, static_cast<size_t>(bytes), stream, &copy))
    return bad;
  hconv_status status =
      call_transpose(plan, run, w, copy, p.kernel_height * p.kernel_width, p.in_channels, p.out_channels);
  if (!status)
    status = call_pack(plan, run, {copy, false}, packed);
  if (!status)
    return scratch_free(p.device, copy, stream);
  const std::string sentence = last_error(); // the first failure's is the one to keep
  scratch_free(p.device, copy, stream);
  return fail(status, "%s", sentence.c_str());
}

hconv_status pack(const hconv_plan *plan, const DLTensor *w, void *packed, size_t packed_bytes, void *stream) {
  if (!plan)
    return fail(HCONV_INVALID_ARGUMENT, "plan is null; expected a plan of hconv_plan_create.");
  if (hconv_status bad = check_pack(*plan, w, packed, packed_bytes))
    return bad;
  PlanScope scope(*plan);
  if (hconv_status bad = scope.status())
    return bad;
  RunContext run(plan->context.handle, plan->context.id, static_cast<cuda::Stream>(stream), false);
  share_out(*plan, {nullptr, 0}, &run);
  const Weights weights{data_of(*w), is_channels_last(*w)};
  if (hconv_status bad = plan->product && weights.channels_last
                             ? pack_channels_last(*plan, &run, weights.address, packed, stream)
                             : call_pack(*plan, &run, weights, packed))
    return bad;
  return environment().check ? check_packed_weights(*plan, *w, packed, stream) : HCONV_OK;
}

hconv_status run(const hconv_plan *plan, const DLTensor *x, const void *packed, const DLTensor *bias, DLTensor *y,
                 void *workspace, size_t workspace_bytes, void *stream) {
  if (!plan)
    return fail(HCONV_INVALID_ARGUMENT, "plan is null; expected a plan of hconv_plan_create.");
  if (hconv_status bad = check_run(*plan, x, packed, bias, y, workspace, workspace_bytes))
    return bad;
  const int64_t batch = plan->problem.batch;
  if (batch == 0)
    return HCONV_OK;
  PlanScope scope(*plan);
  if (hconv_status bad = scope.status())
    return bad;
  const Geometry &g = plan->geometry;
  const Scratch scratch{workspace, std::min(workspace_bytes, plan->workspace_bytes)};
  for (int64_t first = 0; first < batch; first += plan->launch_batch) {
    RunContext run(plan->context.handle, plan->context.id, static_cast<cuda::Stream>(stream), false);
    share_out(*plan, scratch, &run);
    if (hconv_status bad = call_conv(*plan, &run, data_of(*x) + first * g.x_image * g.element_bytes, packed,
                                     bias ? data_of(*bias) : nullptr, data_of(*y) + first * g.y_image * g.element_bytes,
                                     scratch, std::min(plan->launch_batch, batch - first)))
      return bad;
  }
  return environment().check ? check_result(*plan, *x, packed, bias, *y, stream) : HCONV_OK;
}

} // namespace
} // namespace hconv::runtime

extern "C" {

hconv_status hconv_pack(const hconv_plan *plan, const DLTensor *w, void *packed, size_t packed_bytes, void *stream) {
  return hconv::runtime::guarded([&] { return hconv::runtime::pack(plan, w, packed, packed_bytes, stream); });
}

hconv_status hconv_run(const hconv_plan *plan, const DLTensor *x, const void *packed, const DLTensor *bias, DLTensor *y,
                       void *workspace, size_t workspace_bytes, void *stream) {
  return hconv::runtime::guarded(
      [&] { return hconv::runtime::run(plan, x, packed, bias, y, workspace, workspace_bytes, stream); });
}
}
