// The one-call form: a cached plan, and scratch memory from the stream's pool.
#include <optional>

#include "error.h"
#include "memory.h"
#include "plan.h"
#include "plan_cache.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

/// One allocation for packed weights and workspace.
struct Memory {
  void *address = nullptr;
  size_t workspace_offset = 0, workspace_bytes = 0;
};

/// More scratch memory than this is left to the threads of a CPU variant: malloc keeps less between calls, and would
/// map the pages of such a block again in each.
constexpr size_t most_scratch_on_cpu = size_t{16} << 20;

/// With the full workspace, or where memory is short with the smallest one.
hconv_status allocate(const hconv_plan &plan, void *stream, Memory *memory) {
  memory->workspace_offset = (plan.packed_bytes + 255) / 256 * 256;
  const bool left_to_threads = plan.cuts_tasks() && plan.workspace_bytes > most_scratch_on_cpu;
  memory->workspace_bytes = left_to_threads ? plan.minimum_workspace_bytes : plan.workspace_bytes;
  const auto attempt = [&] {
    return scratch_allocate(plan.problem.device, memory->workspace_offset + memory->workspace_bytes, stream,
                            &memory->address);
  };
  const hconv_status status = attempt();
  if (status != HCONV_OUT_OF_MEMORY || plan.minimum_workspace_bytes == memory->workspace_bytes)
    return status;
  memory->workspace_bytes = plan.minimum_workspace_bytes;
  return attempt();
}

hconv_status pack_and_run(const hconv_plan &plan, const DLTensor *x, const DLTensor *w, const DLTensor *bias,
                          DLTensor *y, const Memory &memory, void *stream) {
  if (hconv_status bad = hconv_pack(&plan, w, memory.address, plan.packed_bytes, stream))
    return bad;
  void *workspace = memory.workspace_bytes ? static_cast<char *>(memory.address) + memory.workspace_offset : nullptr;
  return hconv_run(&plan, x, memory.address, bias, y, workspace, memory.workspace_bytes, stream);
}

hconv_status conv2d(const DLTensor *x, const DLTensor *w, const DLTensor *bias, const hconv_padding *padding,
                    hconv_math math, DLTensor *y, void *stream) {
  hconv_problem problem;
  if (hconv_status bad = problem_from_tensors(x, w, padding, math, &problem))
    return bad;
  if (hconv_status bad = check_descriptor(y, "y", 4, "[B, OC, OH, OW]"))
    return bad;
  if (dense_of(*x).channels_last && is_channels_last(*y)) // x may be in either layout
    problem.layout = HCONV_LAYOUT_NHWC;
  if (hconv_status bad = check_tensors(problem, x, w, bias, y))
    return bad;
  SharedPlan plan;
  if (hconv_status bad = cached_plan(problem, &plan))
    return bad;
  if (problem.batch == 0)
    return HCONV_OK;
  if (hconv_status bad = check_alignment(*plan, *x, *y))
    return bad;
  std::optional<cuda::ContextScope> scope;
  if (plan->on_cuda()) {
    scope.emplace(plan->context.handle);
    if (hconv_status bad = cuda::check(scope->result(), "cuCtxPushCurrent"))
      return bad;
  }
  Memory memory;
  if (hconv_status bad = allocate(*plan, stream, &memory))
    return bad;
  const hconv_status status = pack_and_run(*plan, x, w, bias, y, memory, stream);
  if (status) { // the first failure's sentence is the one to keep
    const std::string sentence = last_error();
    scratch_free(problem.device, memory.address, stream);
    return fail(status, "%s", sentence.c_str());
  }
  return scratch_free(problem.device, memory.address, stream);
}

} // namespace
} // namespace hconv::runtime

extern "C" hconv_status hconv_conv2d(const DLTensor *x, const DLTensor *w, const DLTensor *bias,
                                     const hconv_padding *padding, hconv_math math, DLTensor *y, void *stream) {
  return hconv::runtime::guarded([&] { return hconv::runtime::conv2d(x, w, bias, padding, math, y, stream); });
}
