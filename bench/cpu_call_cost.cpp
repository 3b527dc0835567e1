// What a call costs on the CPU beside the kernel's own time: hconv_run of a plan and hconv_conv2d against the compiled
// function on buffers that are ready, on one thread and in one run. Times are those of one call.
//
//   cpu_call_cost [google-benchmark's options]
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "hconv/hconv.hpp"
#include "runtime/buffer.h"
#include "runtime/plan.h"

namespace {

namespace runtime = hconv::runtime;

/// Equal channels, square images and kernels.
struct Shape {
  int64_t batch, channels, size, kernel;
  int64_t out() const { return size - kernel + 1; }
};
constexpr Shape shapes[] = {{1, 1, 4, 4}, {1, 16, 8, 3}, {2, 16, 32, 4}};

/// A planned and packed problem.
struct Planned {
  explicit Planned(const Shape &s)
      : x_data(static_cast<size_t>(s.batch * s.channels * s.size * s.size), 1.f),
        w_data(static_cast<size_t>(s.channels * s.channels * s.kernel * s.kernel), 1.f),
        y_data(static_cast<size_t>(s.batch * s.channels * s.out() * s.out())),
        x(x_data.data(), {s.batch, s.channels, s.size, s.size}),
        w(w_data.data(), {s.channels, s.channels, s.kernel, s.kernel}),
        y(y_data.data(), {s.batch, s.channels, s.out(), s.out()}), plan(hconv::problem(x, w)),
        packed(hconv::cpu, plan.packed_bytes()), workspace(hconv::cpu, plan.workspace_bytes()) {
    plan.pack(w, packed.data(), packed.bytes());
  }

  std::vector<float> x_data, w_data, y_data;
  hconv::Tensor x, w, y;
  hconv::Plan plan;
  hconv::Memory packed, workspace;
};

void kernel_alone(benchmark::State &state) {
  Planned p(shapes[state.range(0)]);
  const hconv_plan &plan = *p.plan.get();
  if (!plan.cuts_tasks()) {
    state.SkipWithError("the plan is not of a direct variant");
    return;
  }
  const hconv_problem &q = plan.problem;
  const runtime::PackedExtents &e = plan.packed;
  const halide_type_t type = runtime::halide_type_of(q.dtype);
  runtime::Buffer x = runtime::images(plan, type, p.x_data.data(), q.width, q.height, q.in_channels, q.batch);
  runtime::Buffer w(plan, type, p.packed.data(),
                    {{e.oc, e.oc_stride}, {e.kw, e.kw_stride}, {e.kh, e.kh_stride}, {e.ic, e.ic_stride}});
  runtime::Buffer bias(plan, type, p.x_data.data(), {{1, 1}});
  runtime::Buffer y = runtime::images(plan, type, p.y_data.data(), plan.geometry.output_width,
                                      plan.geometry.output_height, q.out_channels, q.batch);
  runtime::RunContext run;
  run.use_threads(plan.pool, 1, &plan.tasks, p.workspace.data(), plan.tasks.task_bytes);
  for (auto _ : state)
    if (plan.variant->conv(&run, &x.buffer, &w.buffer, &bias.buffer, 0, 0, 0, &y.buffer))
      std::abort();
  state.SetLabel(p.plan.variant());
}

void planned_run(benchmark::State &state) {
  Planned p(shapes[state.range(0)]);
  for (auto _ : state)
    p.plan.run(p.x, p.packed.data(), p.y, nullptr, p.workspace.data(), p.workspace.bytes());
}

void one_call(benchmark::State &state) {
  Planned p(shapes[state.range(0)]);
  for (auto _ : state)
    hconv::conv2d(p.x, p.w, p.y);
}

BENCHMARK(kernel_alone)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);
BENCHMARK(planned_run)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_call)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);

} // namespace

int main(int argc, char **argv) {
  setenv("HCONV_NUM_THREADS", "1", 1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
