// Plan, pack and run on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environment_guard.h"
#include "runtime/plan.h"
#include "runtime/plan_cache.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

TEST(PlanRun, PacksOnceAndRunsManyTimes) {
  Case c(small_problem());
  PlanHolder plan(c.problem);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  Bytes packed(hconv_plan_packed_bytes(plan));
  ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(hconv_plan_minimum_workspace_bytes(plan), 0u);
  EXPECT_THAT(hconv_plan_variant(plan), testing::StartsWith("conv2d_direct_f32_"));
  for (int seed = 0; seed < 3; ++seed) {
    c.x.fill(seed);
    ASSERT_EQ(hconv_run(plan, &c.x.dl, packed.data(), nullptr, &c.y.dl, nullptr, 0, nullptr), HCONV_OK);
    EXPECT_EQ(c.found(), c.expected(false));
    ASSERT_EQ(hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, nullptr, 0, nullptr), HCONV_OK);
    EXPECT_EQ(c.found(), c.expected(true));
  }
}

TEST(PlanRun, PaddingOnEachSide) {
  for (const hconv_padding &padding :
       {hconv_padding{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 2}, {1, 2, 3, 4}}) {
    hconv_problem p = small_problem();
    p.padding = padding;
    Case c(p);
    ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, &padding, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
        << hconv_last_error();
    EXPECT_EQ(c.found(), c.expected(true));
  }
}

TEST(PlanRun, ByteOffsetIsHonoured) {
  Case c(small_problem());
  const std::vector<double> expected = c.expected(true);
  for (Tensor *t : {&c.x, &c.w, &c.bias, &c.y}) { // there are 64 spare bytes behind each tensor
    std::memmove(t->floats() + 3, t->floats(), static_cast<size_t>(t->count()) * 4);
    t->dl.byte_offset = 12;
  }
  ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(c.found(), expected);
}

TEST(PlanRun, BatchIsSplitSoThatEachLaunchStaysBelow32Bits) {
  using hconv::runtime::launch_batch;
  hconv::runtime::Geometry g{};
  g.x_image = 1000;
  g.y_image = 10;
  EXPECT_EQ(launch_batch(g, {}), ((1 << 30) - 1) / 1000);
  g.y_image = (int64_t{1} << 31) - 1;
  EXPECT_EQ(launch_batch(g, {}), 1);
}

TEST(PlanRun, ASplitBatchComputesEveryImage) {
  hconv_problem p = small_problem();
  p.batch = 7;
  Case c(p);
  PlanHolder plan(p);
  ASSERT_EQ(plan.status, HCONV_OK);
  plan.plan->launch_batch = 3; // as if the images were huge
  Bytes packed(hconv_plan_packed_bytes(plan));
  ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
  ASSERT_EQ(hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, nullptr, 0, nullptr), HCONV_OK);
  EXPECT_EQ(c.found(), c.expected(true));
}

TEST(PlanRun, AHalideErrorBecomesAStatusAndTheNextCallWorks) {
  hconv_problem p = small_problem();
  p.dtype = float16; // the fake float16 functions report a Halide error
  Case c(p);
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("Halide reports: Input buffer x has a fault that the test asked for"));
  Case good(small_problem());
  ASSERT_EQ(hconv_conv2d(&good.x.dl, &good.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &good.y.dl, nullptr), HCONV_OK);
  EXPECT_EQ(good.found(), good.expected(false));
}

TEST(PlanRun, AHalideErrorOutsideOfACallDoesNotAbort) {
  halide_error(nullptr, "a stray error");
  char foreign[64] = "some other program's user context";
  halide_error(foreign, "a stray error");
}

TEST(PlanCache, IsBoundedAndKeyedOnTheWholeProblem) {
  hconv::runtime::clear_plan_cache();
  for (int64_t batch = 1; batch <= 70; ++batch) {
    hconv_problem p = small_problem();
    p.batch = batch;
    Case c(p);
    ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK);
    EXPECT_EQ(c.found(), c.expected(false));
  }
  EXPECT_EQ(hconv::runtime::plan_cache_size(), hconv::runtime::plan_cache_capacity);
  hconv::runtime::clear_plan_cache();
  Case c(small_problem());
  const auto run = [&](hconv_math math) {
    return hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, math, &c.y.dl, nullptr);
  };
  ASSERT_EQ(run(HCONV_MATH_FP32), HCONV_OK);
  ASSERT_EQ(run(HCONV_MATH_FP32), HCONV_OK);
  EXPECT_EQ(hconv::runtime::plan_cache_size(), 1u);
  ASSERT_EQ(run(HCONV_MATH_STRICT), HCONV_OK);
  EXPECT_EQ(hconv::runtime::plan_cache_size(), 2u);
}

TEST(PlanCache, SameSizeOtherTypeIsAnotherPlan) {
  hconv_problem p = small_problem();
  p.dtype = bfloat16;
  Case c(p);
  ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK);
  p.dtype = float16;
  Case half(p);
  EXPECT_EQ(hconv_conv2d(&half.x.dl, &half.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &half.y.dl, nullptr),
            HCONV_INTERNAL_ERROR); // the failing float16 row, not the bfloat16 plan
}

TEST(PlanCache, APinOfALaterEnvironmentIsSeen) {
  Case c(small_problem());
  ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK);
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_direct_f32_wrong_cpu_baseline");
  ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK);
  EXPECT_NE(c.found(), c.expected(false));
}

TEST(Memory, OnTheCpu) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{1000}}) {
    void *a = nullptr, *b = nullptr;
    ASSERT_EQ(hconv_malloc(cpu, bytes, &a), HCONV_OK);
    ASSERT_EQ(hconv_malloc(cpu, bytes, &b), HCONV_OK);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
    std::memset(a, 0x5a, bytes);
    ASSERT_EQ(hconv_copy(b, cpu, a, cpu, bytes, nullptr), HCONV_OK);
    EXPECT_EQ(std::memcmp(a, b, bytes), 0);
    EXPECT_EQ(hconv_synchronize(cpu, nullptr), HCONV_OK);
    EXPECT_EQ(hconv_free(cpu, a), HCONV_OK);
    EXPECT_EQ(hconv_free(cpu, b), HCONV_OK);
  }
  EXPECT_EQ(hconv_free(cpu, nullptr), HCONV_OK);
}

TEST(Memory, Refusals) {
  void *memory = &memory;
  EXPECT_EQ(hconv_malloc(cpu, SIZE_MAX, &memory), HCONV_OUT_OF_MEMORY);
  EXPECT_STREQ(hconv_last_error(), "The host has no 18446744073709551615 bytes of memory left.");
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(hconv_malloc(cpu, 1, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "memory is null; expected the address of a pointer to fill.");
  EXPECT_EQ(hconv_malloc({kDLMetal, 0}, 1, &memory), HCONV_UNSUPPORTED);
  EXPECT_STREQ(hconv_last_error(), "device is DLPack device type 8:0; expected cpu (kDLCPU) or cuda (kDLCUDA).");
  char byte;
  EXPECT_EQ(hconv_copy(nullptr, cpu, &byte, cpu, 1, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "to is null; expected the address of 1 bytes.");
}

} // namespace
