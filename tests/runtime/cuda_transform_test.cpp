// Transform variants: three launches a chunk of tiles on one stream, and any workspace from the smallest on.
#include <cmath>

#include "counted_allocations.h"
#include "cuda_fixture.h"
#include "environment_guard.h"
#include "runtime/plan.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

class CudaTransform : public CudaTest {
protected:
  EnvironmentGuard pin{"HCONV_VARIANT", "conv2d_transform_f32_fft32x32_cuda+spectral_product_f32_oc32x16_cuda"};

  /// 3 x 2 tiles an image of 24 x 27 outputs, at the borders fewer.
  static hconv_problem padded() {
    hconv_problem p = small_problem(cuda0);
    p.batch = 5;
    p.height = 57;
    p.width = 40;
    p.kernel_height = 9;
    p.kernel_width = 6;
    p.padding = {1, 2, 3, 4};
    return p;
  }
};

/// The data are integers: the outputs must be integers but for rounding errors.
std::vector<double> rounded(Case &c) {
  std::vector<double> values = c.found();
  for (double &value : values) {
    EXPECT_NEAR(value, std::round(value), 0.05);
    value = std::round(value);
  }
  return values;
}

/// A plan with packed weights and a workspace.
struct Ready {
  explicit Ready(const hconv_problem &p)
      : c(p), plan(p), packed(hconv_plan_packed_bytes(plan)), workspace(hconv_plan_workspace_bytes(plan)),
        minimum(hconv_plan_minimum_workspace_bytes(plan)) {
    EXPECT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    std::memset(packed.data(), 0x7f, packed.size);
    EXPECT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
  }
  hconv_status run(void *memory, size_t bytes, void *stream = nullptr) {
    std::memset(workspace.data(), 0x7f, workspace.size); // large numbers: what is read must have been written
    return hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, memory, bytes, stream);
  }
  hconv_status run(void *stream = nullptr) { return run(workspace.data(), workspace.size, stream); }
  Case c;
  PlanHolder plan;
  Bytes packed, workspace;
  size_t minimum;
};

TEST_F(CudaTransform, ComputesInThreeLaunchesOnOneStream) {
  Ready r(padded());
  EXPECT_STREQ(hconv_plan_variant(r.plan), "conv2d_transform_f32_fft32x32_cuda+spectral_product_f32_oc32x16_cuda");
  EXPECT_EQ(r.packed.size, 514u * 2 * 8 * 32 * 4);
  EXPECT_EQ(r.workspace.size, 514u * 2 * (8 + 32) * 32 * 4); // 30 tiles
  EXPECT_EQ(r.minimum, r.workspace.size / 2);
  fake_cuda_reset_calls();
  int stream;
  ASSERT_EQ(r.run(&stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 3);
  EXPECT_EQ(fake_cuda_launches_on(&stream), 3);
  EXPECT_EQ(rounded(r.c), r.c.expected(true));
}

TEST_F(CudaTransform, LessWorkspaceMeansMoreChunksAndTheSameBits) {
  Ready r(padded());
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  const std::vector<double> whole = r.c.found();
  for (size_t bytes : {r.minimum, r.minimum + 1, r.workspace.size - 1}) {
    r.c.y.fill_with(-1);
    fake_cuda_reset_calls();
    ASSERT_EQ(r.run(r.workspace.data(), bytes), HCONV_OK) << hconv_last_error();
    EXPECT_EQ(calls("cuLaunchKernel"), 2 * 3) << bytes;
    EXPECT_EQ(r.c.found(), whole) << bytes;
    const auto *memory = static_cast<const unsigned char *>(r.workspace.data());
    for (size_t i = bytes; i < r.workspace.size; ++i)
      ASSERT_EQ(memory[i], 0x7f) << "byte " << i << " lies behind the " << bytes << " that were given";
  }
}

TEST_F(CudaTransform, WorkspaceRefusals) {
  Ready r(padded());
  ASSERT_EQ(r.minimum, 2631680u);
  char *memory = static_cast<char *>(r.workspace.data());
  fake_cuda_reset_calls();
  EXPECT_EQ(r.run(memory, 2631679), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(
      hconv_last_error(),
      "workspace_bytes is 2631679; expected at least 2631680 (hconv_plan_minimum_workspace_bytes), and 5263360 "
      "for the full speed (hconv_plan_workspace_bytes).");
  EXPECT_EQ(r.run(nullptr, 0), HCONV_INVALID_ARGUMENT);
  EXPECT_EQ(r.run(nullptr, 2631680), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "workspace is null; expected the address of 2631680 bytes.");
  EXPECT_EQ(r.run(memory + 8, 2631680), HCONV_INVALID_ARGUMENT);
  void *const own = r.c.y.dl.data;
  r.c.y.dl.data = memory + 2631680 - 4;
  EXPECT_EQ(r.run(memory, 2631680), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), testing::StartsWith("y overlaps workspace: "));
  r.c.y.dl.data = own;
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  EXPECT_EQ(r.run(memory, 2631680), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaTransform, MoreWorkspaceThanTheFullOneIsLeftAlone) {
  hconv_problem p = padded();
  Ready r(p);
  Bytes large(r.workspace.size + 4096);
  std::memset(large.data(), 0x7f, large.size);
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(large.data(), large.size), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 3);
  for (size_t i = r.workspace.size; i < large.size; ++i)
    ASSERT_EQ(static_cast<unsigned char *>(large.data())[i], 0x7f);
}

TEST_F(CudaTransform, PlanCreationLoadsFourKernels) {
  fake_cuda_set_current(fake_cuda_make_context(0));
  PlanHolder plan(padded());
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuModuleLoadData"), 4); // input, weights, product, output
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  hconv_problem empty = padded();
  empty.batch = 0;
  PlanHolder none(empty);
  EXPECT_EQ(none.status, HCONV_OK) << hconv_last_error();
  EXPECT_EQ(hconv_plan_minimum_workspace_bytes(none), 0u);
}

TEST_F(CudaTransform, HotPathLaunchesAndAllocatesNothing) {
  hconv_problem p = padded();
  p.height = p.width = 20;
  Ready r(p);
  fake_cuda_set_current(r.plan.plan->context.handle);
  ASSERT_EQ(r.run(), HCONV_OK);
  fake_cuda_reset_calls();
  fake_cuda_idle(true); // the fake kernels allocate
  const int64_t before = allocations;
  const hconv_status status = r.run();
  const int64_t during = allocations - before;
  fake_cuda_idle(false);
  EXPECT_EQ(status, HCONV_OK);
  EXPECT_EQ(during, 0);
  EXPECT_EQ(calls("cuLaunchKernel"), 3);
  EXPECT_EQ(calls(nullptr), 4);
}

TEST_F(CudaTransform, ASplitBatchReusesTheWorkspace) {
  Ready r(padded());
  r.plan.plan->launch_batch = 2; // as if the images were huge
  fake_cuda_reset_calls();
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 3 * 3);
  EXPECT_EQ(rounded(r.c), r.c.expected(true));
}

TEST_F(CudaTransform, TheOneCallFormBringsItsWorkspace) {
  Case c(padded());
  int stream;
  ASSERT_EQ(convolve(c, &stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(rounded(c), c.expected(true));
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
}

TEST_F(CudaTransform, TheOneCallFormMakesDoWithTheSmallestWorkspace) {
  Case c(padded());
  fake_cuda_fail("cuMemAllocAsync", 2, 1); // out of memory, once
  ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuMemAllocAsync"), 2);
  EXPECT_EQ(calls("cuLaunchKernel"), 1 + 2 * 3);
  EXPECT_EQ(rounded(c), c.expected(true));
  fake_cuda_reset_calls();
  fake_cuda_fail("cuMemAllocAsync", 2, 2);
  EXPECT_EQ(convolve(c), HCONV_OUT_OF_MEMORY);
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
}

TEST_F(CudaTransform, OtherTilesAndTypes) {
  hconv_problem p = padded();
  EnvironmentGuard flat("HCONV_VARIANT", "conv2d_transform_f32_fft16x32_cuda+spectral_product_f32_oc64x64_cuda");
  Ready r(p);
  EXPECT_EQ(hconv_plan_minimum_workspace_bytes(r.plan), 258u * 2 * (8 + 64) * 64 * 4);
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(rounded(r.c), r.c.expected(true));
}

TEST_F(CudaTransform, ChecksPassRightResults) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  Case c(padded());
  for (int64_t i = 0; i < c.x.count(); ++i)
    c.x.floats()[i] = std::sin(static_cast<float>(i)) * (i % 7 ? 1 : 1e6f);
  for (int64_t i = 0; i < c.w.count(); ++i)
    c.w.floats()[i] = std::cos(static_cast<float>(i));
  ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  c.x.floats()[1000] = NAN; // spoils its tiles, and nothing else
  c.bias.floats()[2] = INFINITY;
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  c.x.floats()[3000] = 1e38f; // its spectrum overflows
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaTransform, ChecksPassBfloat16) {
  EnvironmentGuard check("HCONV_CHECK", "1"), half("HCONV_VARIANT", "conv2d_transform_bf16_fft32x32_cuda");
  hconv_problem p = padded();
  p.dtype = bfloat16;
  Case c(p);
  for (Tensor *t : {&c.x, &c.w, &c.bias})
    for (int64_t i = 0; i < t->count(); ++i)
      static_cast<uint16_t *>(t->dl.data)[i] = static_cast<uint16_t>(0x3e00 + i % 511 + (i % 3 ? 0x8000 : 0));
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaTransform, ChecksNoticeWhatIsWrong) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  Ready r(padded());
  fake_cuda_idle(true);
  EXPECT_EQ(hconv_pack(r.plan, &r.c.w.dl, r.workspace.data(), r.workspace.size, nullptr), HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("conv2d_transform_f32_fft32x32_cuda transformed weights wrongly: at [oc 0, "
                                            "ic 0, f 0] it has "));
  EXPECT_EQ(r.run(), HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("conv2d_transform_f32_fft32x32_cuda computed y[0,0,0,0] = -12345; "));
  fake_cuda_idle(false);
  ASSERT_EQ(r.run(), HCONV_OK) << hconv_last_error();
}

TEST_F(CudaTransform, AFailedLaunchStopsTheRun) {
  Ready r(padded());
  fake_cuda_reset_calls();
  fake_cuda_fail("cuLaunchKernel", 1, 1);
  EXPECT_EQ(r.run(), HCONV_DEVICE_ERROR);
  EXPECT_EQ(calls("cuLaunchKernel"), 1);
  EXPECT_EQ(r.run(), HCONV_OK) << hconv_last_error();
}

} // namespace
