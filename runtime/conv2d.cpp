// The one-call form: a cached plan, and scratch memory from the stream's pool.
#include <optional>

#include "error.h"
#include "memory.h"
#include "plan.h"
#include "plan_cache.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

hconv_status pack_and_run(const hconv_plan &plan, const DLTensor *x, const DLTensor *w, const DLTensor *bias,
                          DLTensor *y, void *scratch, void *stream) {
  if (hconv_status bad = hconv_pack(&plan, w, scratch, plan.packed_bytes, stream))
    return bad;
  void *workspace =
      plan.workspace_bytes ? static_cast<char *>(scratch) + (plan.packed_bytes + 255) / 256 * 256 : nullptr;
  return hconv_run(&plan, x, scratch, bias, y, workspace, plan.workspace_bytes, stream);
}

hconv_status conv2d(const DLTensor *x, const DLTensor *w, const DLTensor *bias, const hconv_padding *padding,
                    hconv_math math, DLTensor *y, void *stream) {
  hconv_problem problem;
  if (hconv_status bad = problem_from_tensors(x, w, padding, math, &problem))
    return bad;
  if (hconv_status bad = check_tensors(problem, x, w, bias, y))
    return bad;
  SharedPlan plan;
  if (hconv_status bad = cached_plan(problem, &plan))
    return bad;
  if (problem.batch == 0)
    return HCONV_OK;
  std::optional<cuda::ContextScope> scope;
  if (plan->on_cuda()) {
    scope.emplace(plan->context.handle);
    if (hconv_status bad = cuda::check(scope->result(), "cuCtxPushCurrent"))
      return bad;
  }
  void *scratch = nullptr;
  const size_t bytes = (plan->packed_bytes + 255) / 256 * 256 + plan->workspace_bytes;
  if (hconv_status bad = scratch_allocate(problem.device, bytes, stream, &scratch))
    return bad;
  const hconv_status status = pack_and_run(*plan, x, w, bias, y, scratch, stream);
  if (status) { // the first failure's sentence is the one to keep
    const std::string sentence = last_error();
    scratch_free(problem.device, scratch, stream);
    return fail(status, "%s", sentence.c_str());
  }
  return scratch_free(problem.device, scratch, stream);
}

} // namespace
} // namespace hconv::runtime

extern "C" hconv_status hconv_conv2d(const DLTensor *x, const DLTensor *w, const DLTensor *bias,
                                     const hconv_padding *padding, hconv_math math, DLTensor *y, void *stream) {
  return hconv::runtime::guarded([&] { return hconv::runtime::conv2d(x, w, bias, padding, math, y, stream); });
}
