// Tensor-core variants: x is packed into the workspace first, on the same stream.
#include "counted_allocations.h"
#include "cuda_fixture.h"
#include "environment_guard.h"
#include "runtime/plan.h"
#include "runtime/validation.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

uint16_t bfloat16_of(float value) { // exact for the small integers of these tests
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

/// A bfloat16 problem with small integers, and a float32 twin for the exact answer.
struct HalfCase {
  explicit HalfCase(hconv_problem p) : wide((p.dtype = float32, p)), half((p.dtype = bfloat16, p)) {
    const std::pair<Tensor *, Tensor *> inputs[] = {{&wide.x, &half.x}, {&wide.w, &half.w}, {&wide.bias, &half.bias}};
    for (const auto &[from, to] : inputs)
      for (int64_t i = 0; i < from->count(); ++i) {
        from->floats()[i] = static_cast<float>((i * 7 + from->count()) % 3 - 1);
        static_cast<uint16_t *>(to->dl.data)[i] = bfloat16_of(from->floats()[i]);
      }
  }
  std::vector<double> found() {
    std::vector<double> values;
    for (int64_t i = 0; i < half.y.count(); ++i) {
      const uint32_t bits = static_cast<uint32_t>(static_cast<uint16_t *>(half.y.dl.data)[i]) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      values.push_back(value);
    }
    return values;
  }
  std::vector<double> expected() { return wide.expected(true); }
  Case wide, half;
};

class CudaMma : public CudaTest {
protected:
  EnvironmentGuard pin{"HCONV_VARIANT", "conv2d_mma_bf16_oc64x64_cuda"};

  static hconv_problem padded() {
    hconv_problem p = small_problem(cuda0);
    p.batch = 5;
    p.padding = {1, 2, 3, 4};
    return p;
  }
};

/// A plan with packed weights and a workspace.
struct Ready {
  explicit Ready(const hconv_problem &p)
      : c(p), plan(c.half.problem), packed(hconv_plan_packed_bytes(plan)), workspace(hconv_plan_workspace_bytes(plan)) {
    EXPECT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_EQ(hconv_pack(plan, &c.half.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
    std::memset(workspace.data(), 0x7f, workspace.size); // NaNs: all of it that is read must have been written
  }
  hconv_status run(void *memory, size_t bytes, void *stream = nullptr) {
    return hconv_run(plan, &c.half.x.dl, packed.data(), &c.half.bias.dl, &c.half.y.dl, memory, bytes, stream);
  }
  hconv_status run(void *stream = nullptr) { return run(workspace.data(), workspace.size, stream); }
  HalfCase c;
  PlanHolder plan;
  Bytes packed, workspace;
};

TEST_F(CudaMma, PacksTheInputAndComputesOnOneStream) {
  Ready r(padded());
  EXPECT_EQ(r.workspace.size, 16640u); // 5 x 8 x 13 x 16 of two bytes
  fake_cuda_reset_calls();
  int stream;
  ASSERT_EQ(r.run(&stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 2);
  EXPECT_EQ(fake_cuda_launches_on(&stream), 2);
  EXPECT_EQ(r.c.found(), r.c.expected());
}

TEST_F(CudaMma, PlanCreationLoadsThreeKernels) {
  fake_cuda_set_current(fake_cuda_make_context(0));
  hconv_problem p = small_problem(cuda0);
  p.dtype = bfloat16;
  PlanHolder plan(p);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuModuleLoadData"), 3); // weights, input, convolution
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
}

TEST_F(CudaMma, HotPathIsThreeDriverCallsAndNoAllocation) {
  Ready r(small_problem(cuda0));
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

TEST_F(CudaMma, ASplitBatchReusesTheWorkspaceOfOneLaunch) {
  Ready r(padded());
  r.plan.plan->launch_batch = 2; // as if the images were huge
  const size_t image = 8 * 13 * 16 * 2;
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 2 * 3);
  EXPECT_EQ(r.c.found(), r.c.expected());
  const auto *bytes = static_cast<const unsigned char *>(r.workspace.data());
  EXPECT_NE(bytes[2 * image - 1], 0x7f);
  for (size_t i = 2 * image; i < r.workspace.size; ++i)
    ASSERT_EQ(bytes[i], 0x7f) << "byte " << i << " lies behind the two images of a launch";
}

TEST_F(CudaMma, WorkspaceRefusals) {
  Ready r(small_problem(cuda0));
  ASSERT_EQ(r.workspace.size, 2048u);
  char *memory = static_cast<char *>(r.workspace.data());
  fake_cuda_reset_calls();
  EXPECT_EQ(r.run(memory, 2047), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "workspace_bytes is 2047; expected at least 2048 (hconv_plan_workspace_bytes).");
  EXPECT_EQ(r.run(nullptr, 0), HCONV_INVALID_ARGUMENT);
  EXPECT_EQ(r.run(nullptr, 2048), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "workspace is null; expected the address of 2048 bytes.");
  EXPECT_EQ(r.run(memory + 8, 2048), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(),
              testing::AllOf(HasSubstr("workspace is at address 0x"), HasSubstr("expected a multiple of 16.")));
  Tensor &x = r.c.half.x, &y = r.c.half.y, &bias = r.c.half.bias;
  const auto overlap = [&](Tensor &t, const char *sentence) {
    void *const own = t.dl.data;
    t.dl.data = memory + 512;
    EXPECT_EQ(r.run(), HCONV_INVALID_ARGUMENT);
    EXPECT_THAT(hconv_last_error(), testing::StartsWith(sentence));
    t.dl.data = memory + 2048 - 2; // the last element
    EXPECT_EQ(r.run(), HCONV_INVALID_ARGUMENT);
    t.dl.data = own;
  };
  overlap(y, "y overlaps workspace: ");
  overlap(x, "workspace overlaps x: ");
  overlap(bias, "workspace overlaps bias: ");
  EXPECT_EQ(r.run(r.packed.data(), 2048), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), testing::StartsWith("workspace overlaps packed: "));
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  EXPECT_EQ(r.run(), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaMma, AnEmptyBatchNeedsNoWorkspace) {
  hconv_problem p = small_problem(cuda0);
  p.batch = 0;
  Ready r(p);
  EXPECT_EQ(r.workspace.size, 0u);
  EXPECT_EQ(r.run(nullptr, 0), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaMma, TheOneCallFormBringsItsWorkspace) {
  EnvironmentGuard check("HCONV_CHECK", "1"); // packed weights and results are compared
  HalfCase c(padded());
  int stream;
  ASSERT_EQ(convolve(c.half, &stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected());
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
}

TEST_F(CudaMma, StrictIsRefusedWithAReason) {
  hconv_problem p = small_problem(cuda0);
  p.dtype = bfloat16;
  p.math = HCONV_MATH_STRICT;
  PlanHolder plan(p);
  EXPECT_EQ(plan.status, HCONV_UNSUPPORTED);
  EXPECT_THAT(hconv_last_error(), HasSubstr("HCONV_MATH_STRICT asks for float32 multiply-adds only"));
}

TEST_F(CudaMma, AFailureWhileTheInputIsPackedStopsTheRun) {
  Ready r(small_problem(cuda0));
  fake_cuda_reset_calls();
  fake_cuda_fail("cuLaunchKernel", 1, 1);
  EXPECT_EQ(r.run(), HCONV_DEVICE_ERROR);
  EXPECT_EQ(calls("cuLaunchKernel"), 1);
  EXPECT_EQ(r.run(), HCONV_OK) << hconv_last_error();
}

class CudaWgmma : public CudaTest {
protected:
  static hconv_problem served() {
    hconv_problem p = small_problem(cuda0);
    p.dtype = bfloat16;
    p.width = 12;
    p.kernel_width = 7;
    return p;
  }
};

TEST_F(CudaWgmma, IsChosenOnTheOneComputeCapabilityThatHasIt) {
  for (const auto &[capability, name] : {std::pair<int, const char *>{90, "conv2d_wgmma_bf16_oc64x64_cuda"},
                                         {80, "conv2d_mma_bf16_oc64x64_cuda"},
                                         {89, "conv2d_mma_bf16_oc64x64_cuda"},
                                         {100, "conv2d_mma_bf16_oc64x64_cuda"},
                                         {120, "conv2d_mma_bf16_oc64x64_cuda"}}) {
    fake_cuda_set_capability(capability);
    PlanHolder plan(square_problem(cuda0, 4, 64, 128, 7, 7, bfloat16));
    ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_STREQ(hconv_plan_variant(plan), name) << capability;
  }
}

TEST_F(CudaWgmma, IsRefusedElsewhereBeforeAnythingIsLoaded) {
  EnvironmentGuard pin{"HCONV_VARIANT", "conv2d_wgmma_bf16_oc64x64_cuda"};
  fake_cuda_set_capability(100);
  PlanHolder plan(served());
  EXPECT_EQ(plan.status, HCONV_UNSUPPORTED);
  EXPECT_THAT(hconv_last_error(),
              HasSubstr("it is machine code for compute capability 9.0 alone, and the device has 10.0"));
  EXPECT_EQ(calls("cuModuleLoadData"), 0);
}

TEST_F(CudaWgmma, ComputesFromPackedInput) {
  EnvironmentGuard pin{"HCONV_VARIANT", "conv2d_wgmma_bf16_oc64x64_cuda"};
  Ready r(served());
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(r.c.found(), r.c.expected());
}

class CudaNhwc : public CudaTest {
protected:
  /// IC and OC of 8, x, w and y channels last.
  static hconv_problem problem(int64_t IC = 8, int64_t OC = 8) {
    hconv_problem p = small_problem(cuda0);
    p.in_channels = IC;
    p.out_channels = OC;
    p.padding = {1, 2, 3, 4};
    p.layout = HCONV_LAYOUT_NHWC;
    return p;
  }
  static void expect_right(Ready &r, int launches) {
    for (Tensor *t : {&r.c.half.x, &r.c.half.y})
      make_channels_last(*t);
    fake_cuda_reset_calls();
    ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
    EXPECT_EQ(calls("cuLaunchKernel"), launches);
    make_row_major(r.c.half.y);
    EXPECT_EQ(r.c.found(), r.c.expected());
  }
};

TEST_F(CudaNhwc, IsOneLaunchWithoutAWorkspace) {
  Ready r(problem());
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_mma_bf16_nhwc_oc64x64_cuda");
  EXPECT_EQ(r.workspace.size, 0u);
  expect_right(r, 1);
}

TEST_F(CudaNhwc, ChannelsThatAreNoWholePiecesAreCopied) {
  Ready r(problem(3));
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_mma_bf16_nhwc_oc64x64_cuda");
  EXPECT_EQ(r.workspace.size, 1024u); // 2 x 5 x 6 x 8 of two bytes
  expect_right(r, 2);
}

TEST_F(CudaNhwc, OtherOutputChannelsAreConverted) {
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_mma_bf16_oc64x64_cuda");
  Ready r(problem(8, 5));
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_mma_bf16_oc64x64_cuda");
  expect_right(r, 4); // x to NCHW, its packing, the convolution, y to NHWC
}

TEST_F(CudaNhwc, ItsKernelServesNchwOfAnyAlignment) {
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_mma_bf16_nhwc_oc64x64_cuda");
  hconv_problem p = problem();
  p.layout = HCONV_LAYOUT_NCHW;
  Ready r(p);
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_mma_bf16_nhwc_oc64x64_cuda");
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 3); // x to NHWC, the convolution, y to NCHW
  EXPECT_EQ(r.c.found(), r.c.expected());
  r.c.half.x.dl.byte_offset = r.c.half.y.dl.byte_offset = 2;
  EXPECT_EQ(hconv::runtime::check_alignment(*r.plan.plan, r.c.half.x.dl, r.c.half.y.dl), HCONV_OK);
}

TEST_F(CudaNhwc, ASplitBatchConvertsOneLaunchAfterAnother) {
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_mma_bf16_oc64x64_cuda");
  Ready r(problem(8, 5));
  r.plan.plan->launch_batch = 1;
  expect_right(r, 8);
}

TEST_F(CudaNhwc, TensorsMustBeAlignedWhereTheyAreReadInPlace) {
  Ready r(problem());
  for (Tensor *t : {&r.c.half.x, &r.c.half.y})
    make_channels_last(*t);
  r.c.half.x.dl.byte_offset = 8;
  fake_cuda_reset_calls();
  EXPECT_EQ(r.run(), HCONV_UNSUPPORTED);
  EXPECT_THAT(hconv_last_error(),
              testing::MatchesRegex("x starts at address 0x[0-9a-f]+8 .data . byte_offset.; expected "
                                    "a multiple of 16, since the plan's kernel reads 8 channels of "
                                    "NHWC at once."));
  r.c.half.x.dl.byte_offset = 0;
  r.c.half.y.dl.byte_offset = 2;
  EXPECT_EQ(r.run(), HCONV_UNSUPPORTED);
  EXPECT_THAT(hconv_last_error(), HasSubstr("since the plan's kernel writes 8 channels of NHWC at once."));
  hconv_problem p = problem();
  EXPECT_EQ(hconv_conv2d(&r.c.half.x.dl, &r.c.half.w.dl, nullptr, &p.padding, p.math, &r.c.half.y.dl, nullptr),
            HCONV_UNSUPPORTED);
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
}

TEST_F(CudaNhwc, PlanCreationLoadsWhatARunLaunches) {
  for (const auto &[OC, modules] : {std::pair<int64_t, int64_t>{8, 2}, {5, 3}}) { // in place; and direct
    fake_cuda_set_current(fake_cuda_make_context(0));
    fake_cuda_reset_calls();
    hconv_problem p = problem(8, OC);
    p.dtype = bfloat16;
    PlanHolder plan(p);
    ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    EXPECT_EQ(calls("cuModuleLoadData"), modules);
  }
}

} // namespace
