// The launch path: what it asks of the driver, what it allocates, and what it says when the driver fails.
#include <atomic>
#include <thread>

#include "counted_allocations.h"
#include "cuda_fixture.h"
#include "environment_guard.h"
#include "runtime/plan.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

class CudaLaunch : public CudaTest {};

/// A plan whose weights are packed.
struct Ready {
  explicit Ready(const hconv_problem &p) : c(p), plan(p), packed(hconv_plan_packed_bytes(plan)) {
    EXPECT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
  }
  hconv_status run(void *stream = nullptr) {
    return hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, nullptr, 0, stream);
  }
  Case c;
  PlanHolder plan;
  Bytes packed;
};

TEST_F(CudaLaunch, ComputesOnTheCallersStream) {
  Ready r(small_problem(cuda0));
  int stream;
  ASSERT_EQ(r.run(&stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(r.c.found(), r.c.expected(true));
  EXPECT_EQ(fake_cuda_last_stream(), &stream);
}

TEST_F(CudaLaunch, PlanCreationLoadsAndLaunchesNothing) {
  hconv_problem p = small_problem(cuda0);
  fake_cuda_set_current(fake_cuda_make_context(0)); // one in which nothing is loaded yet
  PlanHolder plan(p);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuModuleLoadData"), 2); // pack and convolution
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  fake_cuda_reset_calls();
  PlanHolder again(p);
  EXPECT_EQ(calls("cuModuleLoadData"), 0);
}

TEST_F(CudaLaunch, TheStockBackEndIsNeverCalledWithoutData) {
  EnvironmentGuard backend("HCONV_BACKEND", "halide_ptx");
  fake_cuda_set_current(fake_cuda_make_context(0));
  Ready r(small_problem(cuda0));
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_direct_f32_oc32x64_halide_ptx");
  EXPECT_EQ(calls("cuModuleLoadData"), 1); // the pack kernel
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(r.c.found(), r.c.expected(true));
}

TEST_F(CudaLaunch, HotPathIsTwoDriverCallsAndNoAllocation) {
  Ready r(small_problem(cuda0));
  fake_cuda_set_current(r.plan.plan->context.handle);
  ASSERT_EQ(r.run(), HCONV_OK);
  fake_cuda_reset_calls();
  const int64_t before = allocations;
  const hconv_status status = r.run();
  const int64_t during = allocations - before;
  EXPECT_EQ(status, HCONV_OK);
  EXPECT_EQ(during, 0);
  EXPECT_EQ(calls("cuLaunchKernel"), 1);
  EXPECT_EQ(calls("cuCtxGetCurrent"), 1);
  EXPECT_EQ(calls(nullptr), 2);
}

TEST_F(CudaLaunch, WithoutACurrentContextThePlansIsPushedAndPopped) {
  Ready r(small_problem(cuda0));
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuCtxPushCurrent_v2"), 1);
  EXPECT_EQ(calls("cuCtxPopCurrent_v2"), 1);
  EXPECT_EQ(calls(nullptr), 4);
  EXPECT_EQ(fake_cuda_current(), nullptr);
  EXPECT_EQ(fake_cuda_last_context(), r.plan.plan->context.handle);
}

TEST_F(CudaLaunch, MoreThan48KiBOfSharedMemoryIsOptedInto) {
  fake_cuda_set_current(fake_cuda_make_context(0));
  Ready r(small_problem(cuda0));
  ASSERT_EQ(r.run(), HCONV_OK);
  EXPECT_EQ(calls("cuFuncSetAttribute"), 1); // the convolution's 64 KiB; the pack kernel uses none
  EXPECT_EQ(fake_cuda_last_shared_bytes(), 64u * 1024);
}

TEST_F(CudaLaunch, FailuresBecomeStatusesWithTheirNames) {
  Ready r(small_problem(cuda0));
  fake_cuda_fail("cuLaunchKernel", 1, 1);
  EXPECT_EQ(r.run(), HCONV_DEVICE_ERROR);
  EXPECT_STREQ(hconv_last_error(), "The CUDA driver's cuLaunchKernel failed for kernel fake_kernel: "
                                   "CUDA_ERROR_INVALID_VALUE, 1 (a failure that the test asked for).");
  EXPECT_EQ(r.run(), HCONV_OK) << "the next call works: " << hconv_last_error();
  fake_cuda_fail("cuLaunchKernel", 2, 1);
  EXPECT_EQ(r.run(), HCONV_OUT_OF_MEMORY);
  fake_cuda_fail("cuCtxPushCurrent_v2", 201, 1);
  EXPECT_EQ(r.run(), HCONV_DEVICE_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("cuCtxPushCurrent failed"));
}

TEST_F(CudaLaunch, LoadFailuresAreThePlansAndAreRetried) {
  hconv_problem p = small_problem(cuda0);
  fake_cuda_set_current(fake_cuda_make_context(0));
  fake_cuda_fail("cuModuleLoadData", 209, 1);
  PlanHolder refused(p);
  EXPECT_EQ(refused.status, HCONV_DEVICE_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("hconv was built without code for this GPU's architecture."));
  EXPECT_EQ(refused.plan, nullptr);
  fake_cuda_fail("cuModuleLoadData", 222, 1);
  PlanHolder old(p);
  EXPECT_EQ(old.status, HCONV_DEVICE_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("The driver is older than the compiler of the kernels."));
  fake_cuda_fail("cuFuncSetAttribute", 1, 1);
  PlanHolder shared(p);
  EXPECT_EQ(shared.status, HCONV_DEVICE_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("dynamic shared memory"));
  PlanHolder good(p);
  EXPECT_EQ(good.status, HCONV_OK) << hconv_last_error();
}

TEST_F(CudaLaunch, AHalideErrorInHostCodeIsAStatus) {
  hconv_problem p = small_problem(cuda0);
  p.dtype = float16; // its fake function reports a Halide error
  PlanHolder plan(p);
  EXPECT_EQ(plan.status, HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("Halide reports: Input buffer x has a fault"));
}

TEST_F(CudaLaunch, CheckComparesAndLeavesCapturesAlone) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  Ready r(small_problem(cuda0));
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_GT(calls("cuMemcpyDtoHAsync_v2"), 0);
  int stream;
  fake_cuda_capture(&stream);
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(&stream), HCONV_OK);
  EXPECT_EQ(calls("cuMemcpyDtoHAsync_v2"), 0);
  EXPECT_EQ(calls("cuStreamSynchronize"), 0);
}

TEST_F(CudaLaunch, ThirtyTwoThreadsLoadEachModuleOnce) {
  void *context = fake_cuda_make_context(0);
  std::atomic<int> waiting{32}, right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&, t] {
      fake_cuda_set_current(context);
      Case c(small_problem(cuda0));
      c.x.fill(t);
      --waiting;
      while (waiting.load() > 0)
        std::this_thread::yield();
      right += convolve(c) == HCONV_OK && c.found() == c.expected(true);
      fake_cuda_set_current(nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right.load(), 32);
  EXPECT_EQ(calls("cuModuleLoadData"), 2);
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
}

} // namespace
