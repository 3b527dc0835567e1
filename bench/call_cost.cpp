// What a call costs the CPU: hconv_run of a plan and hconv_conv2d against a bare cuLaunchKernel of an empty kernel with
// as many arguments, in one run. Prints first what the first call of a process takes once its context exists.
//
//   call_cost [google-benchmark's options]       times are those of one call
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hconv/hconv.h"
#include "runtime/cuda/driver.h"

namespace {

namespace cuda = hconv::runtime::cuda;
using Clock = std::chrono::steady_clock;

constexpr int calls_in_a_row = 200; // fewer than the driver queues before it makes the caller wait
constexpr int repetitions = 50;     // a manual time says nothing of how long an iteration takes
constexpr int buffer_arguments = 4, scalar_arguments = 24;
constexpr DLDevice device{kDLCUDA, 0};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void give_up(const char *what) {
  std::fprintf(stderr, "call_cost: %s failed: %s\n", what, hconv_last_error());
  std::exit(1);
}
void need(hconv_status status, const char *what) {
  if (status != HCONV_OK)
    give_up(what);
}

/// A tensor on the device, with whatever its memory holds.
struct DeviceTensor {
  explicit DeviceTensor(std::vector<int64_t> extents) : shape(std::move(extents)) {
    size_t bytes = sizeof(float);
    for (int64_t extent : shape)
      bytes *= static_cast<size_t>(extent);
    void *memory = nullptr;
    need(hconv_malloc(device, bytes, &memory), "hconv_malloc");
    dl = {memory, device, static_cast<int32_t>(shape.size()), {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
  }
  std::vector<int64_t> shape;
  DLTensor dl;
};

/// One of the small contest sizes, planned and packed.
struct Planned {
  explicit Planned(int64_t batch, int64_t channels, int64_t size, int64_t kernel)
      : x({batch, channels, size, size}), w({channels, channels, kernel, kernel}),
        y({batch, channels, size - kernel + 1, size - kernel + 1}) {
    hconv_problem problem;
    need(hconv_problem_from_tensors(&x.dl, &w.dl, nullptr, HCONV_MATH_FP32, &problem), "hconv_problem_from_tensors");
    need(hconv_plan_create(&problem, &plan), "hconv_plan_create");
    packed_bytes = hconv_plan_packed_bytes(plan);
    workspace_bytes = hconv_plan_workspace_bytes(plan);
    need(hconv_malloc(device, packed_bytes, &packed), "hconv_malloc");
    if (workspace_bytes > 0)
      need(hconv_malloc(device, workspace_bytes, &workspace), "hconv_malloc");
    need(hconv_pack(plan, &w.dl, packed, packed_bytes, nullptr), "hconv_pack");
  }
  void run() { need(hconv_run(plan, &x.dl, packed, nullptr, &y.dl, workspace, workspace_bytes, nullptr), "hconv_run"); }

  DeviceTensor x, w, y;
  hconv_plan *plan = nullptr;
  void *packed = nullptr, *workspace = nullptr;
  size_t packed_bytes = 0, workspace_bytes = 0;
};

/// The driver's time of a launch, which every caller pays: an empty kernel with arguments like a convolution's.
cuda::Function empty_kernel() {
  std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry empty(";
  for (int i = 0; i < buffer_arguments + scalar_arguments; ++i)
    text +=
        (i ? ", .param " : ".param ") + std::string(i < buffer_arguments ? ".u64" : ".u32") + " p" + std::to_string(i);
  text += ") { ret; }\n";
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  need(cuda::check(cuda::driver().module_load(&module, text.c_str()), "cuModuleLoadData"), "the empty kernel");
  need(cuda::check(cuda::driver().module_function(&function, module, "empty"), "cuModuleGetFunction"),
       "the empty kernel");
  return function;
}

template <class Call> void time_calls(benchmark::State &state, Call call) {
  for (auto _ : state) {
    const auto start = Clock::now();
    for (int i = 0; i < calls_in_a_row; ++i)
      call();
    state.SetIterationTime(seconds_since(start) / calls_in_a_row);
    need(hconv_synchronize(device, nullptr), "hconv_synchronize");
  }
}

void bare_launch(benchmark::State &state) {
  const cuda::Function function = empty_kernel();
  uint64_t values[buffer_arguments + scalar_arguments] = {};
  void *parameters[buffer_arguments + scalar_arguments];
  for (int i = 0; i < buffer_arguments + scalar_arguments; ++i)
    parameters[i] = &values[i];
  time_calls(state, [&] {
    const cuda::Result result = cuda::driver().launch(function, 32, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr);
    need(cuda::check(result, "cuLaunchKernel"), "the empty kernel");
  });
}

void planned_run(benchmark::State &state) {
  Planned p(1, 16, 32, 4);
  state.SetLabel(hconv_plan_variant(p.plan));
  time_calls(state, [&] { p.run(); });
}

void one_call(benchmark::State &state) {
  Planned p(1, 16, 32, 4);
  time_calls(state, [&] {
    need(hconv_conv2d(&p.x.dl, &p.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &p.y.dl, nullptr), "hconv_conv2d");
  });
}

void plan_creation(benchmark::State &state) {
  Planned p(1, 16, 32, 4);
  hconv_problem problem;
  need(hconv_problem_from_tensors(&p.x.dl, &p.w.dl, nullptr, HCONV_MATH_FP32, &problem), "hconv_problem_from_tensors");
  for (auto _ : state) {
    const auto start = Clock::now();
    hconv_plan *plan = nullptr;
    need(hconv_plan_create(&problem, &plan), "hconv_plan_create");
    state.SetIterationTime(seconds_since(start));
    hconv_plan_destroy(plan);
  }
}

BENCHMARK(bare_launch)->UseManualTime()->Iterations(repetitions)->Unit(benchmark::kMicrosecond);
BENCHMARK(planned_run)->UseManualTime()->Iterations(repetitions)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_call)->UseManualTime()->Iterations(repetitions)->Unit(benchmark::kMicrosecond);
BENCHMARK(plan_creation)->UseManualTime()->Iterations(repetitions)->Unit(benchmark::kMicrosecond);

void print_first_call() {
  DeviceTensor context_exists({1});
  const auto start = Clock::now();
  Planned p(1, 16, 32, 4);
  p.run();
  need(hconv_synchronize(device, nullptr), "hconv_synchronize");
  std::printf("first call of the process (plan, module, pack, run, synchronise): %.1f ms\n",
              seconds_since(start) * 1e3);
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  if (hconv_cuda_device_count() == 0) {
    std::fprintf(stderr, "call_cost: there is no CUDA device; expected one, or an emulated one\n");
    return 1;
  }
  // A context that outlives every call, current as an application's would be.
  cuda::Device ordinal = 0;
  cuda::Context context = nullptr;
  need(cuda::check(cuda::driver().device_get(&ordinal, 0), "cuDeviceGet"), "the device");
  need(cuda::check(cuda::driver().primary_retain(&context, ordinal), "cuDevicePrimaryCtxRetain"), "the context");
  need(cuda::check(cuda::driver().context_push(context), "cuCtxPushCurrent"), "the context");
  print_first_call();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
