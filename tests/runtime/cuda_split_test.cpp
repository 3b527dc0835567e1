// Split variants: parts in the workspace, and a second launch that adds them up.
#include <cstring>

#include "counted_allocations.h"
#include "cuda_fixture.h"
#include "environment_guard.h"
#include "runtime/plan.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

class CudaSplit : public CudaTest {
protected:
  EnvironmentGuard pin{"HCONV_VARIANT", "conv2d_direct_f32_oc16x16_kw9_split_cuda+3"};

  /// 12 channels are 6 steps; y is 5 x 4 x 4 x 4.
  static hconv_problem problem() {
    hconv_problem p = small_problem(cuda0);
    p.batch = 5;
    p.in_channels = 12;
    p.kernel_width = 9;
    p.padding = {0, 0, 3, 3};
    return p;
  }
  static constexpr size_t image = 4 * 4 * 4 * 3 * 4; // bytes of the parts of one
};

/// A plan with packed weights and a workspace full of NaN.
struct Ready {
  explicit Ready(const hconv_problem &p)
      : c(p), plan(c.problem), packed(hconv_plan_packed_bytes(plan)), workspace(hconv_plan_workspace_bytes(plan)) {
    EXPECT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
    std::memset(workspace.data(), 0x7f, workspace.size);
  }
  hconv_status run(size_t bytes, void *stream = nullptr) {
    return hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, workspace.data(), bytes, stream);
  }
  hconv_status run(void *stream = nullptr) { return run(workspace.size, stream); }
  Case c;
  PlanHolder plan;
  Bytes packed, workspace;
};

TEST_F(CudaSplit, AddsUpPartsInASecondLaunchOnTheSameStream) {
  Ready r(problem());
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_direct_f32_oc16x16_kw9_split_cuda+3");
  EXPECT_EQ(r.workspace.size, 5 * image);
  EXPECT_EQ(hconv_plan_minimum_workspace_bytes(r.plan), 5 * image);
  fake_cuda_reset_calls();
  int stream;
  ASSERT_EQ(r.run(&stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 2);
  EXPECT_EQ(fake_cuda_launches_on(&stream), 2);
  EXPECT_EQ(r.c.found(), r.c.expected(true));
}

TEST_F(CudaSplit, WithoutABias) {
  Ready r(problem());
  ASSERT_EQ(
      hconv_run(r.plan, &r.c.x.dl, r.packed.data(), nullptr, &r.c.y.dl, r.workspace.data(), r.workspace.size, nullptr),
      HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(r.c.found(), r.c.expected(false));
}

TEST_F(CudaSplit, PlanCreationLoadsAllKernelsSoThatARunCanBeCaptured) {
  fake_cuda_set_current(fake_cuda_make_context(0));
  PlanHolder plan(problem());
  ASSERT_EQ(plan.status, HCONV_OK);
  EXPECT_EQ(calls("cuModuleLoadData"), 3); // weights, slices, sum
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
}

TEST_F(CudaSplit, HotPathIsThreeDriverCallsAndNoAllocation) {
  Ready r(problem());
  fake_cuda_set_current(r.plan.plan->context.handle);
  ASSERT_EQ(r.run(), HCONV_OK);
  fake_cuda_reset_calls();
  const int64_t before = allocations;
  const hconv_status status = r.run();
  const int64_t during = allocations - before;
  EXPECT_EQ(status, HCONV_OK);
  EXPECT_EQ(during, 0);
  EXPECT_EQ(calls("cuLaunchKernel"), 2);
  EXPECT_EQ(calls(nullptr), 3);
}

TEST_F(CudaSplit, OneByteTooFewIsRefused) {
  Ready r(problem());
  fake_cuda_reset_calls();
  EXPECT_EQ(r.run(r.workspace.size - 1), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "workspace_bytes is 3839; expected at least 3840 (hconv_plan_workspace_bytes).");
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  EXPECT_EQ(r.run(), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaSplit, ABatchOfSeveralLaunchesReusesTheWorkspace) {
  Ready r(problem());
  r.plan.plan->launch_batch = 2; // as if the images were huge
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 2 * 3);
  EXPECT_EQ(r.c.found(), r.c.expected(true));
  const auto *bytes = static_cast<const unsigned char *>(r.workspace.data());
  for (size_t i = 2 * image; i < r.workspace.size; ++i)
    ASSERT_EQ(bytes[i], 0x7f) << "byte " << i << " lies behind the two images of a launch";
}

TEST_F(CudaSplit, TheOneCallFormBringsItsWorkspace) {
  EnvironmentGuard check("HCONV_CHECK", "1"); // packed weights and results are compared
  Case c(problem());
  int stream;
  ASSERT_EQ(convolve(c, &stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(true));
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
}

TEST_F(CudaSplit, AFailureOfTheFirstStageStopsTheRun) {
  Ready r(problem());
  fake_cuda_reset_calls();
  fake_cuda_fail("cuLaunchKernel", 1, 1);
  EXPECT_EQ(r.run(), HCONV_DEVICE_ERROR);
  EXPECT_EQ(calls("cuLaunchKernel"), 1);
  EXPECT_EQ(r.run(), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaSplit, ExplainTellsTheNumberAndWhatOthersWouldCost) {
  const hconv_problem p = problem();
  char text[8192];
  size_t size = sizeof text;
  ASSERT_EQ(hconv_explain(&p, HCONV_TEXT, text, &size), HCONV_OK) << hconv_last_error();
  EXPECT_THAT(text, HasSubstr("parts        3 of 4 channels each, then sum_parts_f32_cuda; cost by parts: 1: "));
  EXPECT_THAT(text, HasSubstr(" bytes of packed weights, 3840 bytes of workspace"));
  size = sizeof text;
  ASSERT_EQ(hconv_explain(&p, HCONV_JSON, text, &size), HCONV_OK) << hconv_last_error();
  EXPECT_THAT(text, HasSubstr("\"channels_of_a_part\": 4"));
  EXPECT_THAT(text, HasSubstr("\"second_stage\": \"sum_parts_f32_cuda\""));
}

// On tensor cores the parts lie behind the packed input.
TEST_F(CudaSplit, AlsoAfterAPackedInput) {
  EnvironmentGuard mma("HCONV_VARIANT", "conv2d_mma_bf16_oc16x16_kw9_split_cuda+2");
  hconv_problem p = problem();
  p.in_channels = 20; // 2 steps of 16
  Case wide(p);
  p.dtype = bfloat16;
  Ready r(p);
  Tensor *const from[] = {&wide.x, &wide.w, &wide.bias}, *const to[] = {&r.c.x, &r.c.w, &r.c.bias};
  for (int t : {0, 1, 2})
    for (int64_t i = 0; i < from[t]->count(); ++i) {
      from[t]->floats()[i] = static_cast<float>((i * 7 + t) % 3 - 1); // exact in bfloat16, and so are sums up to 256
      uint32_t bits;
      std::memcpy(&bits, &from[t]->floats()[i], sizeof bits);
      static_cast<uint16_t *>(to[t]->dl.data)[i] = static_cast<uint16_t>(bits >> 16);
    }
  ASSERT_EQ(hconv_pack(r.plan, &r.c.w.dl, r.packed.data(), r.packed.size, nullptr), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(r.workspace.size, 5 * 5 * 12 * 32 * 2 + 5 * 4 * 4 * 4 * 2 * 4u);
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 3);
  std::vector<double> found;
  for (int64_t i = 0; i < r.c.y.count(); ++i) {
    const uint32_t bits = static_cast<uint32_t>(static_cast<uint16_t *>(r.c.y.dl.data)[i]) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    found.push_back(value);
  }
  EXPECT_EQ(found, wide.expected(true));
}

} // namespace
