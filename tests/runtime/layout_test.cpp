// Packed weights, packed input and workspace: extents, strides and bytes.
#include <gtest/gtest.h>

#include "runtime/layout.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;

TEST(Layout, OfDirectWeightsHasOutputChannelsInnermost) {
  const PackedExtents e =
      packed_extents(square_problem(cuda0, 1, 65, 8, 3, 3), *find_variant("conv2d_direct_f32_oc64x32_cuda"));
  EXPECT_EQ(e.oc, 128);
  EXPECT_EQ(e.ic, 72);
  EXPECT_EQ(e.kh, 3);
  EXPECT_EQ(e.kw, 3);
  EXPECT_EQ(e.elements, 128 * 72 * 9);
  EXPECT_EQ(e.oc_stride, 1);
  EXPECT_EQ(e.kw_stride, 128);
  EXPECT_EQ(e.kh_stride, 128 * 3);
  EXPECT_EQ(e.ic_stride, 128 * 9);
}

TEST(Layout, OfTensorCoreWeightsHasChannelsInnermost) {
  hconv_problem p = square_problem(cuda0, 1, 65, 8, 3, 3, bfloat16);
  p.kernel_width = 2;
  const PackedExtents e = packed_extents(p, *find_variant("conv2d_mma_bf16_oc64x64_cuda"));
  EXPECT_EQ(e.elements, 128 * 80 * 6);
  EXPECT_EQ(e.ic_stride, 1);
  EXPECT_EQ(e.oc_stride, 80);
  EXPECT_EQ(e.kw_stride, 80 * 128);
  EXPECT_EQ(e.kh_stride, 80 * 128 * 2);
}

TEST(Layout, OfPackedInputHoldsThePadding) {
  hconv_problem p = square_problem(cuda0, 3, 17, 8, 3, 3, bfloat16);
  p.padding = {1, 2, 3, 4};
  const Variant &mma = *find_variant("conv2d_mma_bf16_oc64x64_cuda");
  const PackedInput input = packed_input(p, mma);
  EXPECT_EQ(input.ic, 32);
  EXPECT_EQ(input.width, 15);
  EXPECT_EQ(input.height, 11);
  EXPECT_EQ(input.image, 32 * 15 * 11);
  EXPECT_EQ(workspace_of(p, mma, nullptr).full, (3 * 32 * 15 * 11 * 2 + 255) / 256 * 256);
  EXPECT_EQ(workspace_of(p, mma, nullptr).minimum, workspace_of(p, mma, nullptr).full);
  const Variant &direct = *find_variant("conv2d_direct_bf16_oc32x64_cuda");
  EXPECT_EQ(packed_input(p, direct).image, 0);
  EXPECT_EQ(workspace_of(p, direct, nullptr).full, 0);
}

TEST(Layout, ALaunchAndItsWorkspaceAreBoundedByThePackedInput) {
  hconv_problem p = square_problem(cuda0, 100, 1, 2048, 1, 1, bfloat16);
  const Variant &mma = *find_variant("conv2d_mma_bf16_oc64x64_cuda");
  const PackedInput input = packed_input(p, mma); // 2^26 elements of an image of 2^22
  EXPECT_EQ(launch_batch(geometry_of(p), input), 15);
  EXPECT_EQ(launch_batch(geometry_of(p), {}), 255);
  EXPECT_EQ(workspace_of(p, mma, nullptr).full, int64_t{15} << 27);
  p.batch = 2;
  EXPECT_EQ(workspace_of(p, mma, nullptr).full, int64_t{2} << 27);
  p.batch = 0;
  EXPECT_EQ(workspace_of(p, mma, nullptr).full, 0);
}

} // namespace
