#include "plan.h"

#include <memory>

#include "error.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

/// Loads the modules of all its kernels without launching them, so that the first hconv_run can be captured in a graph.
hconv_status load_kernels(const hconv_plan &plan) {
  cuda::ContextScope scope(plan.context.handle);
  if (hconv_status bad = cuda::check(scope.result(), "cuCtxPushCurrent"))
    return bad;
  // Two addresses, since generated code may choose between kernels by alignment. Nothing reads or writes them. Packed
  // data and the workspace are always aligned.
  void *const aligned = reinterpret_cast<void *>(uintptr_t{4096});
  const Scratch anything{aligned, size_t{1} << 62};
  for (uintptr_t address : {uintptr_t{4096}, uintptr_t{4096} + plan.geometry.element_bytes}) {
    void *const nowhere = reinterpret_cast<void *>(address);
    RunContext loading(plan.context.handle, plan.context.id, nullptr, true);
    if (hconv_status bad = call_pack(plan, &loading, {nowhere, false}, aligned))
      return bad;
    if (plan.pack_input)
      if (hconv_status bad = call_pack_input(plan, &loading, nowhere, aligned, 1))
        return bad;
    if (plan.conversion.bytes())
      if (hconv_status bad = call_transpose(plan, &loading, nowhere, aligned, 1, 1, 1))
        return bad;
    if (plan.variant->target == Target::halide_ptx) // its launcher cannot load without launching
      continue;
    void *const tensor = plan.variant->layout == HCONV_LAYOUT_NHWC ? aligned : nowhere; // see check_alignment
    if (hconv_status bad = call_conv(plan, &loading, tensor, aligned, nullptr, tensor, anything, 1))
      return bad;
  }
  return HCONV_OK;
}

hconv_status create(const hconv_problem *problem, const hconv_thread_pool *pool, hconv_plan **result) {
  if (!result)
    return fail(HCONV_INVALID_ARGUMENT, "plan is null; expected the address of an hconv_plan pointer to fill.");
  *result = nullptr;
  if (!problem)
    return fail(HCONV_INVALID_ARGUMENT, "problem is null; expected the address of an hconv_problem.");
  if (hconv_status bad = check_problem(problem))
    return bad;
  auto plan = std::make_unique<hconv_plan>();
  plan->problem = *problem;
  plan->geometry = geometry_of(*problem);
  if (hconv_status bad = plan->on_cuda() ? cuda::acquire_context(problem->device.device_id, &plan->context)
                                         : choose_pool(pool, &plan->pool))
    return bad;
  Choice choice;
  if (hconv_status bad = choose(*problem, machine_of(problem->device, plan->pool.threads), environment(), &choice))
    return bad;
  plan->variant = choice.variant;
  plan->pack = choice.pack;
  plan->pack_input = choice.pack_input;
  plan->product = choice.product;
  plan->transpose = choice.transpose;
  plan->conversion = conversion_of(*problem, *choice.variant);
  plan->sum_parts = choice.sum_parts;
  plan->parts = choice.parts;
  plan->name = choice.variant->name;
  if (plan->product) {
    plan->name += std::string("+") + plan->product->name;
    plan->transform = transform_layout(*problem, *choice.variant, *choice.product);
  } else
    plan->packed = packed_extents(*problem, *choice.variant);
  if (plan->parts)
    plan->name += "+" + std::to_string(plan->parts);
  plan->packed_bytes = static_cast<size_t>(packed_bytes(*problem, *choice.variant, choice.product));
  plan->input = packed_input(*problem, *choice.variant);
  if (plan->cuts_tasks())
    plan->tasks = cpu_tasks(*problem, *choice.variant, plan->pool.threads);
  else if (!plan->on_cuda() && worth_threads(*problem, *choice.variant, choice.product))
    plan->tasks.threads = plan->pool.threads;
  const Workspace workspace = plan->cuts_tasks()
                                  ? workspace_of(plan->tasks)
                                  : workspace_of(*problem, *choice.variant, choice.product, choice.parts);
  plan->workspace_bytes = static_cast<size_t>(workspace.full + plan->conversion.bytes());
  plan->minimum_workspace_bytes = static_cast<size_t>(workspace.minimum + plan->conversion.bytes());
  plan->launch_batch = launch_batch(plan->geometry, plan->input, plan->parts);
  if (plan->on_cuda())
    if (hconv_status bad = load_kernels(*plan))
      return bad;
  log(LogLevel::info, "plan: %s -> %s (%s)", text_of(*problem).c_str(), plan->name.c_str(), choice.source.c_str());
  *result = plan.release();
  return HCONV_OK;
}

} // namespace
} // namespace hconv::runtime

using namespace hconv::runtime;

extern "C" {

hconv_status hconv_problem_from_tensors(const DLTensor *x, const DLTensor *w, const hconv_padding *padding,
                                        hconv_math math, hconv_problem *problem) {
  return guarded([&] { return problem_from_tensors(x, w, padding, math, problem); });
}

hconv_status hconv_plan_create(const hconv_problem *problem, hconv_plan **plan) {
  return guarded([&] { return create(problem, nullptr, plan); });
}

hconv_status hconv_plan_create_with_pool(const hconv_problem *problem, const hconv_thread_pool *pool,
                                         hconv_plan **plan) {
  return guarded([&] { return create(problem, pool, plan); });
}

void hconv_plan_destroy(hconv_plan *plan) {
  delete plan;
}

size_t hconv_plan_packed_bytes(const hconv_plan *plan) {
  return plan ? plan->packed_bytes : 0;
}

size_t hconv_plan_workspace_bytes(const hconv_plan *plan) {
  return plan ? plan->workspace_bytes : 0;
}

size_t hconv_plan_minimum_workspace_bytes(const hconv_plan *plan) {
  return plan ? plan->minimum_workspace_bytes : 0;
}

void hconv_plan_output_shape(const hconv_plan *plan, int64_t shape[4]) {
  if (!plan || !shape)
    return;
  shape[0] = plan->problem.batch;
  shape[1] = plan->problem.out_channels;
  shape[2] = plan->geometry.output_height;
  shape[3] = plan->geometry.output_width;
}

const char *hconv_plan_variant(const hconv_plan *plan) {
  return plan ? plan->name.c_str() : "";
}
}
