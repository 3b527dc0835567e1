// Contexts: the caller's is used, the primary one is retained where there is none, and all is left as it was.
#include <thread>

#include "cuda_fixture.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

class CudaContext : public CudaTest {};

TEST_F(CudaContext, TheCurrentOneIsUsed) {
  void *mine = fake_cuda_make_context(0);
  fake_cuda_set_current(mine);
  Case c(small_problem(cuda0));
  ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(true));
  EXPECT_EQ(fake_cuda_last_context(), mine);
  EXPECT_EQ(fake_cuda_current(), mine);
  EXPECT_EQ(calls("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_EQ(calls("cuCtxPushCurrent_v2"), 0);
}

TEST_F(CudaContext, WithoutOneThePrimaryIsRetainedForThePlansLife) {
  {
    PlanHolder plan(small_problem(cuda0));
    ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_EQ(fake_cuda_primary_references(0), 1);
    EXPECT_EQ(fake_cuda_current(), nullptr);
  }
  EXPECT_EQ(fake_cuda_primary_references(0), 0);
}

TEST_F(CudaContext, AFreshThreadWorks) {
  std::thread([] {
    Case c(small_problem(cuda0));
    ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
    EXPECT_EQ(c.found(), c.expected(true));
    EXPECT_EQ(fake_cuda_current(), nullptr);
  }).join();
}

TEST_F(CudaContext, ARenewedPrimaryContextLoadsItsOwnModules) {
  for (int round = 0; round < 2; ++round) {
    fake_cuda_reset_calls();
    PlanHolder plan(small_problem(cuda0)); // the fake driver makes a new context, perhaps at the same address
    ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_EQ(calls("cuModuleLoadData"), 2) << round;
  }
}

TEST_F(CudaContext, TensorsOnTheOtherDevice) {
  void *mine = fake_cuda_make_context(0);
  fake_cuda_set_current(mine);
  Case c(small_problem(cuda1));
  ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(true));
  EXPECT_NE(fake_cuda_last_context(), mine);
  EXPECT_EQ(fake_cuda_primary_references(1), 1);
  EXPECT_EQ(fake_cuda_current(), mine) << "the caller's context is current again";
  Case own(small_problem(cuda0));
  ASSERT_EQ(convolve(own), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(fake_cuda_last_context(), mine);
}

TEST_F(CudaContext, TheRunUsesThePlansContextWhateverIsCurrent) {
  void *first = fake_cuda_make_context(0), *second = fake_cuda_make_context(0);
  fake_cuda_set_current(first);
  Case c(small_problem(cuda0));
  PlanHolder plan(c.problem);
  Bytes packed(hconv_plan_packed_bytes(plan));
  fake_cuda_set_current(second);
  ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(fake_cuda_last_context(), first);
  EXPECT_EQ(fake_cuda_current(), second);
}

TEST_F(CudaContext, AFailureLeavesTheCallersContext) {
  void *mine = fake_cuda_make_context(0);
  fake_cuda_set_current(mine);
  Case c(small_problem(cuda1));
  fake_cuda_fail("cuLaunchKernel", 1, 1);
  EXPECT_EQ(convolve(c), HCONV_DEVICE_ERROR);
  EXPECT_EQ(fake_cuda_current(), mine);
  EXPECT_EQ(fake_cuda_live_allocations(), 0) << "the scratch memory was not given back";
}

TEST_F(CudaContext, EachHasItsOwnCachedPlan) {
  void *first = fake_cuda_make_context(0), *second = fake_cuda_make_context(0);
  Case c(small_problem(cuda0));
  for (void *context : {first, second, first, second}) {
    fake_cuda_set_current(context);
    ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
    EXPECT_EQ(fake_cuda_last_context(), context);
  }
  EXPECT_EQ(hconv::runtime::plan_cache_size(), 2u);
}

TEST_F(CudaContext, MixedDevicesAreRefused) {
  Case c(small_problem(cuda0));
  c.w.dl.device = cuda1;
  EXPECT_EQ(convolve(c), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "w is on cuda:1; expected cuda:0, the device of x.");
}

TEST_F(CudaContext, AnOrdinalBeyondTheDevicesIsRefused) {
  PlanHolder plan(small_problem({kDLCUDA, 2}));
  EXPECT_EQ(plan.status, HCONV_NO_DEVICE);
  EXPECT_STREQ(hconv_last_error(),
               "The device is cuda:2, but the driver has 2 devices; expected an ordinal below that.");
}

TEST_F(CudaContext, DevicesAreCountedNamedAndTheDefault) {
  EXPECT_EQ(hconv_cuda_device_count(), 2);
  char name[64];
  size_t size = sizeof name;
  ASSERT_EQ(hconv_device_name(cuda1, name, &size), HCONV_OK);
  EXPECT_STREQ(name, "Fake GPU 1");
  DLDevice device = cpu;
  ASSERT_EQ(hconv_default_device(&device), HCONV_OK);
  EXPECT_EQ(device.device_type, kDLCUDA);
}

} // namespace
