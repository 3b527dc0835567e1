// A machine without a CUDA driver: CUDA is refused with a sentence, and the CPU serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environment_guard.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const auto says_no_driver = AllOf(StartsWith("CUDA was asked for (cuda:0), but the CUDA driver library "
                                             "'libhconv_no_such_driver.so' cannot be loaded ("),
                                  HasSubstr("expected a driver, or tensors on the CPU."));

TEST(NoDriver, PlanIsRefused) {
  PlanHolder plan(small_problem(cuda0));
  EXPECT_EQ(plan.status, HCONV_NO_DEVICE);
  EXPECT_THAT(hconv_last_error(), says_no_driver);
}

TEST(NoDriver, Conv2dIsRefused) {
  Case c(small_problem(cuda0));
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_NO_DEVICE);
  EXPECT_THAT(hconv_last_error(), says_no_driver);
}

TEST(NoDriver, MemoryIsRefused) {
  void *memory = nullptr;
  EXPECT_EQ(hconv_malloc(cuda0, 16, &memory), HCONV_NO_DEVICE);
  EXPECT_THAT(hconv_last_error(), says_no_driver);
  EXPECT_EQ(hconv_synchronize(cuda0, nullptr), HCONV_NO_DEVICE);
}

TEST(NoDriver, DevicesAreCountedAndNamed) {
  EXPECT_EQ(hconv_cuda_device_count(), 0);
  char name[256];
  size_t size = sizeof name;
  EXPECT_EQ(hconv_device_name(cuda0, name, &size), HCONV_NO_DEVICE);
  size = sizeof name;
  EXPECT_EQ(hconv_device_name(cpu, name, &size), HCONV_OK);
  EXPECT_EQ(size, std::strlen(name) + 1);
  EXPECT_GT(size, 1u);
}

TEST(NoDriver, TheCpuIsTheDefaultDevice) {
  DLDevice device = cuda1;
  ASSERT_EQ(hconv_default_device(&device), HCONV_OK);
  EXPECT_EQ(device.device_type, kDLCPU);
  EnvironmentGuard wanted("HCONV_DEVICE", "cuda");
  EXPECT_EQ(hconv_default_device(&device), HCONV_NO_DEVICE);
  EXPECT_THAT(hconv_last_error(), says_no_driver);
}

TEST(NoDriver, TheCpuServes) {
  Case c(small_problem());
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK);
  EXPECT_EQ(c.found(), c.expected(false));
}

TEST(NoDriver, ExplainStillTellsTheChoice) {
  const std::string content = explained(small_problem(cuda0), HCONV_TEXT);
  EXPECT_THAT(content, HasSubstr("variant      conv2d_direct_f32_oc32x64_cuda"));
  EXPECT_THAT(content, HasSubstr("device       not present: CUDA was asked for"));
}

} // namespace
