// The finished library on whatever CUDA driver there is: a GPU's or the emulator. Skipped where there is none.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/cuda/context.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
namespace cuda = hconv::runtime::cuda;

/// An exported function of the driver that the runtime itself does not use; null where the emulator lacks it.
template <class Function> Function driver_function(const char *name) {
  return reinterpret_cast<Function>(dlsym(cuda::driver().library, name));
}

class Device : public testing::Test {
protected:
  void SetUp() override {
    if (hconv_cuda_device_count() == 0)
      GTEST_SKIP() << "there is no CUDA device";
  }
};

/// A Case whose tensors live on device 0.
struct DeviceCase {
  explicit DeviceCase(hconv_problem p) : host((p.device = cpu, p)), problem(p) {
    problem.device = cuda0;
    for (Tensor *t : {&host.x, &host.w, &host.bias, &host.y}) {
      void *memory = nullptr;
      EXPECT_EQ(hconv_malloc(cuda0, bytes(*t), &memory), HCONV_OK) << hconv_last_error();
      EXPECT_EQ(hconv_copy(memory, cuda0, t->floats(), cpu, bytes(*t), nullptr), HCONV_OK) << hconv_last_error();
      tensors.push_back(t->dl);
      tensors.back().data = memory;
      tensors.back().device = cuda0;
    }
  }
  ~DeviceCase() {
    for (DLTensor &t : tensors)
      EXPECT_EQ(hconv_free(cuda0, t.data), HCONV_OK) << hconv_last_error();
  }
  static size_t bytes(const Tensor &t) { return static_cast<size_t>(t.count()) * 4; }
  DLTensor *x() { return &tensors[0]; }
  DLTensor *w() { return &tensors[1]; }
  DLTensor *bias() { return &tensors[2]; }
  DLTensor *y() { return &tensors[3]; }

  /// New x on the device and in the reference, ordered after the work of `stream`.
  void refill(int seed, void *stream) {
    host.x.fill(seed);
    EXPECT_EQ(hconv_copy(x()->data, cuda0, host.x.floats(), cpu, bytes(host.x), stream), HCONV_OK);
  }
  bool right(void *stream) {
    EXPECT_EQ(hconv_copy(host.y.floats(), cpu, y()->data, cuda0, bytes(host.y), stream), HCONV_OK)
        << hconv_last_error();
    return host.found() == host.expected(true);
  }
  hconv_status convolve(void *stream) {
    return hconv_conv2d(x(), w(), bias(), &problem.padding, HCONV_MATH_FP32, y(), stream);
  }

  Case host;
  hconv_problem problem;
  std::vector<DLTensor> tensors;
};

TEST_F(Device, ThirtyTwoFreshThreadsAtOnce) {
  std::atomic<int> waiting{32}, right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&, t] {
      DeviceCase c(small_problem());
      c.refill(t, nullptr);
      --waiting;
      while (waiting.load() > 0)
        std::this_thread::yield();
      const hconv_status status = c.convolve(nullptr);
      EXPECT_EQ(status, HCONV_OK) << hconv_last_error();
      right += status == HCONV_OK && c.right(nullptr);
      cuda::Context current = nullptr;
      cuda::driver().context_current(&current);
      EXPECT_EQ(current, nullptr) << "the thread had no context and has one now";
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right.load(), 32);
}

TEST_F(Device, WorkOfACallersStreamIsOrdered) {
  const auto create = driver_function<cuda::Result (*)(cuda::Stream *, unsigned)>("cuStreamCreate");
  const auto destroy = driver_function<cuda::Result (*)(cuda::Stream)>("cuStreamDestroy_v2");
  ASSERT_TRUE(create && destroy);
  DeviceCase c(small_problem());
  cuda::ContextRef context;
  ASSERT_EQ(cuda::acquire_context(0, &context), HCONV_OK);
  {
    cuda::ContextScope scope(context.handle);
    cuda::Stream stream = nullptr;
    ASSERT_EQ(create(&stream, 1), cuda::success); // 1: does not synchronise with the default stream
    for (int round = 0; round < 20; ++round) {
      c.host.x.fill(round);
      // Three steps on the stream with no wait of the host between them.
      ASSERT_EQ(cuda::driver().copy_to_device(reinterpret_cast<uintptr_t>(c.x()->data), c.host.x.floats(),
                                              DeviceCase::bytes(c.host.x), stream),
                cuda::success);
      ASSERT_EQ(c.convolve(stream), HCONV_OK) << hconv_last_error();
      EXPECT_TRUE(c.right(stream)) << round;
    }
    EXPECT_EQ(destroy(stream), cuda::success);
  }
  cuda::release_context(&context);
}

TEST_F(Device, ARunIsCapturedWithoutAWarmUp) {
  using Graph = void *;
  const auto create = driver_function<cuda::Result (*)(cuda::Stream *, unsigned)>("cuStreamCreate");
  const auto destroy = driver_function<cuda::Result (*)(cuda::Stream)>("cuStreamDestroy_v2");
  const auto begin = driver_function<cuda::Result (*)(cuda::Stream, int)>("cuStreamBeginCapture_v2");
  const auto end = driver_function<cuda::Result (*)(cuda::Stream, Graph *)>("cuStreamEndCapture");
  const auto instantiate =
      driver_function<cuda::Result (*)(Graph *, Graph, unsigned long long)>("cuGraphInstantiateWithFlags");
  const auto launch = driver_function<cuda::Result (*)(Graph, cuda::Stream)>("cuGraphLaunch");
  if (!begin || !end || !instantiate || !launch)
    GTEST_SKIP() << "this driver has no graphs";
  hconv_problem p = small_problem();
  p.width = 41; // a shape, and with it perhaps a variant, that has not run before
  DeviceCase c(p);
  cuda::ContextRef context;
  ASSERT_EQ(cuda::acquire_context(0, &context), HCONV_OK);
  {
    cuda::ContextScope scope(context.handle);
    cuda::Stream stream = nullptr;
    ASSERT_EQ(create(&stream, 1), cuda::success);
    PlanHolder plan(c.problem);
    ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    const size_t bytes = hconv_plan_packed_bytes(plan);
    void *packed = nullptr;
    ASSERT_EQ(hconv_malloc(cuda0, bytes, &packed), HCONV_OK);
    const size_t scratch = hconv_plan_workspace_bytes(plan);
    void *workspace = nullptr;
    ASSERT_EQ(hconv_malloc(cuda0, scratch, &workspace), HCONV_OK);
    ASSERT_EQ(begin(stream, 0), cuda::success); // 0: unsafe calls of any thread break the capture
    EXPECT_EQ(hconv_pack(plan, c.w(), packed, bytes, stream), HCONV_OK) << hconv_last_error();
    EXPECT_EQ(hconv_run(plan, c.x(), packed, c.bias(), c.y(), workspace, scratch, stream), HCONV_OK)
        << hconv_last_error();
    Graph graph = nullptr, executable = nullptr;
    ASSERT_EQ(end(stream, &graph), cuda::success) << "the capture was broken";
    ASSERT_EQ(instantiate(&executable, graph, 0), cuda::success);
    for (int round = 0; round < 100; ++round) {
      c.refill(round, stream);
      ASSERT_EQ(launch(executable, stream), cuda::success);
      ASSERT_TRUE(c.right(stream)) << round;
    }
    EXPECT_EQ(hconv_free(cuda0, packed), HCONV_OK);
    EXPECT_EQ(hconv_free(cuda0, workspace), HCONV_OK);
    EXPECT_EQ(destroy(stream), cuda::success);
  }
  cuda::release_context(&context);
}

TEST_F(Device, AlternatesWithTheCpu) {
  for (int round = 0; round < 3; ++round) {
    DeviceCase c(small_problem());
    ASSERT_EQ(c.convolve(nullptr), HCONV_OK) << hconv_last_error();
    EXPECT_TRUE(c.right(nullptr));
    Case host(small_problem());
    ASSERT_EQ(hconv_conv2d(&host.x.dl, &host.w.dl, &host.bias.dl, nullptr, HCONV_MATH_FP32, &host.y.dl, nullptr),
              HCONV_OK);
    EXPECT_EQ(host.found(), host.expected(true));
  }
}

} // namespace
