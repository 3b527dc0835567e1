// Each refusal of hconv_pack, hconv_run and hconv_conv2d, and what they accept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tensor.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;
using testing::StartsWith;

/// Everything that hconv_run gets.
struct Arguments {
  Case &c;
  const DLTensor *x, *bias;
  DLTensor *y;
  void *packed;
};

struct Refusal {
  const char *name;
  std::function<void(Arguments &)> change;
  hconv_status status;
  const char *sentence; ///< its beginning
};

class RunRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(RunRefusal, NamesArgumentFoundAndExpected) {
  Case c(small_problem());
  PlanHolder plan(c.problem);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  Bytes packed(hconv_plan_packed_bytes(plan));
  ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
  Arguments a{c, &c.x.dl, &c.bias.dl, &c.y.dl, packed.data()};
  const float *y = c.y.floats();
  GetParam().change(a);
  EXPECT_EQ(hconv_run(plan, a.x, a.packed, a.bias, a.y, nullptr, 0, nullptr), GetParam().status);
  EXPECT_THAT(hconv_last_error(), StartsWith(GetParam().sentence));
  EXPECT_THAT(std::vector<float>(y, y + 128), testing::Each(-12345.0f)) << "y was written";
}

const Refusal refusals[] = {
    {"NullX", [](Arguments &a) { a.x = nullptr; }, HCONV_INVALID_ARGUMENT,
     "x is null; expected a DLTensor of shape [B, IC, H, W]."},
    {"NullY", [](Arguments &a) { a.y = nullptr; }, HCONV_INVALID_ARGUMENT,
     "y is null; expected a DLTensor of shape [B, OC, OH, OW]."},
    {"NullPacked", [](Arguments &a) { a.packed = nullptr; }, HCONV_INVALID_ARGUMENT,
     "packed is null; expected the address of "},
    {"MisalignedPacked", [](Arguments &a) { a.packed = static_cast<char *>(a.packed) + 8; }, HCONV_INVALID_ARGUMENT,
     "packed is at address 0x"},
    {"NullDataOfX", [](Arguments &a) { a.c.x.dl.data = nullptr; }, HCONV_INVALID_ARGUMENT,
     "x.data is null; expected the address of 180 elements."},
    {"NullDataOfBias", [](Arguments &a) { a.c.bias.dl.data = nullptr; }, HCONV_INVALID_ARGUMENT,
     "bias.data is null; expected the address of 4 elements."},
    {"RankOfBias", [](Arguments &a) { a.c.bias.dl.ndim = 2; }, HCONV_INVALID_ARGUMENT,
     "bias has 2 dimensions; expected 1: [OC]."},
    {"RankOfY", [](Arguments &a) { a.c.y.dl.ndim = 0; }, HCONV_INVALID_ARGUMENT,
     "y has 0 dimensions; expected 4: [B, OC, OH, OW]."},
    {"NullShapeOfY", [](Arguments &a) { a.c.y.dl.shape = nullptr; }, HCONV_INVALID_ARGUMENT,
     "y.shape is null; expected 4 extents: [B, OC, OH, OW]."},
    {"TypeOfY", [](Arguments &a) { a.c.y.dl.dtype = bfloat16; }, HCONV_INVALID_ARGUMENT,
     "y has element type bfloat16; expected float32, as all tensors of one convolution."},
    {"DeviceOfY", [](Arguments &a) { a.c.y.dl.device = cuda0; }, HCONV_INVALID_ARGUMENT,
     "y is on cuda:0; expected cpu, as all tensors of one convolution."},
    {"DeviceOfX", [](Arguments &a) { a.c.x.dl.device = cuda1; }, HCONV_INVALID_ARGUMENT,
     "x is on cuda:1; expected cpu, as all tensors of one convolution."},
    {"ShapeOfY", [](Arguments &a) { a.c.y.shape[3] = 3; }, HCONV_INVALID_ARGUMENT,
     "y has shape [2, 4, 4, 3]; expected [B, OC, OH, OW] = [2, 4, 4, 4]."},
    {"ShapeOfX", [](Arguments &a) { a.c.x.shape[0] = 1; }, HCONV_INVALID_ARGUMENT,
     "x has shape [1, 3, 5, 6]; expected [B, IC, H, W] = [2, 3, 5, 6]."},
    {"ShapeOfBias", [](Arguments &a) { a.c.bias.shape[0] = 5; }, HCONV_INVALID_ARGUMENT,
     "bias has shape [5]; expected [OC] = [4]."},
    {"TransposedX",
     [](Arguments &a) {
       a.c.x.set_strides({90, 30, 1, 5});
     },
     HCONV_UNSUPPORTED,
     "x is not contiguous: it has strides [90, 30, 1, 5]; expected [90, 30, 6, 1] (row-major, in elements). Pass a "
     "contiguous copy."},
    {"CroppedX",
     [](Arguments &a) {
       a.c.x.set_strides({120, 40, 8, 1});
     },
     HCONV_UNSUPPORTED, "x is not contiguous"},
    {"FlippedX",
     [](Arguments &a) {
       a.c.x.set_strides({90, 30, 6, -1});
     },
     HCONV_UNSUPPORTED, "x is not contiguous"},
    {"BroadcastY",
     [](Arguments &a) {
       a.c.y.set_strides({64, 0, 4, 1});
     },
     HCONV_UNSUPPORTED, "y is not contiguous"},
    {"StridedBias", [](Arguments &a) { a.c.bias.set_strides({2}); }, HCONV_UNSUPPORTED,
     "bias is not contiguous: it has strides [2]; expected [1]"},
    {"MisalignedX", [](Arguments &a) { a.c.x.dl.byte_offset = 2; }, HCONV_INVALID_ARGUMENT, "x starts at address 0x"},
    {"OffsetBeyondAddresses", [](Arguments &a) { a.c.x.dl.byte_offset = UINT64_MAX - 3; }, HCONV_INVALID_ARGUMENT,
     "x.byte_offset is 18446744073709551612, so the tensor's end lies beyond the address space"},
    {"YIsX", [](Arguments &a) { a.c.y.dl.data = a.c.x.dl.data; }, HCONV_INVALID_ARGUMENT,
     "y overlaps x: y occupies 0x"},
    {"YReachesIntoX",
     [](Arguments &a) {
       a.c.y.dl.data = a.c.x.dl.data;
       a.c.y.dl.byte_offset = 179 * 4;
     },
     HCONV_INVALID_ARGUMENT, "y overlaps x"},
    {"YIsBias", [](Arguments &a) { a.c.bias.dl.data = a.c.y.floats() + 127; }, HCONV_INVALID_ARGUMENT,
     "y overlaps bias"},
    {"YIsPacked",
     [](Arguments &a) {
       uintptr_t inside = (reinterpret_cast<uintptr_t>(a.c.y.dl.data) + 15) / 16 * 16;
       a.packed = reinterpret_cast<void *>(inside);
     },
     HCONV_INVALID_ARGUMENT, "y overlaps packed"},
};

INSTANTIATE_TEST_SUITE_P(Sentences, RunRefusal, testing::ValuesIn(refusals),
                         [](const auto &info) { return info.param.name; });

TEST(Run, NullPlan) {
  Case c(small_problem());
  EXPECT_EQ(hconv_run(nullptr, &c.x.dl, c.w.dl.data, nullptr, &c.y.dl, nullptr, 0, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "plan is null; expected a plan of hconv_plan_create.");
}

TEST(Run, AcceptsAnyStrideWhereAnExtentIsOne) {
  hconv_problem p = small_problem();
  p.batch = 1;
  p.in_channels = 1;
  Case c(p);
  c.x.set_strides({-7, 99, 6, 1});
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(false));
}

TEST(Run, AcceptsDenseStridesAndInputsThatShareMemory) {
  hconv_problem p = small_problem();
  Case c(p);
  c.x.set_strides({90, 30, 6, 1});
  c.w.dl.data = c.x.dl.data;
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(false));
}

TEST(Run, AcceptsYNextToX) {
  Case c(small_problem());
  Tensor both({180 + 128});
  std::memcpy(both.floats(), c.x.floats(), 180 * 4);
  c.x.dl.data = both.dl.data;
  c.y.dl.data = both.dl.data;
  c.y.dl.byte_offset = 180 * 4;
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(false));
}

TEST(Pack, Refusals) {
  Case c(small_problem());
  PlanHolder plan(c.problem);
  Bytes packed(hconv_plan_packed_bytes(plan));
  EXPECT_EQ(hconv_pack(nullptr, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "plan is null; expected a plan of hconv_plan_create.");
  EXPECT_EQ(hconv_pack(plan, nullptr, packed.data(), packed.size, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "w is null; expected a DLTensor of shape [OC, IC, KH, KW].");
  EXPECT_EQ(hconv_pack(plan, &c.w.dl, nullptr, packed.size, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), StartsWith("packed is null; expected the address of"));
  EXPECT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size - 1, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), HasSubstr("; expected at least " + std::to_string(packed.size)));
  EXPECT_EQ(hconv_pack(plan, &c.w.dl, static_cast<char *>(packed.data()) + 4, packed.size, nullptr),
            HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), HasSubstr("expected a multiple of 16."));
  Tensor inside({4, 3, 2, 3});
  inside.dl.data = packed.data();
  EXPECT_EQ(hconv_pack(plan, &inside.dl, packed.data(), packed.size, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), StartsWith("packed overlaps w"));
  c.w.shape[0] = 3;
  EXPECT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "w has shape [3, 3, 2, 3]; expected [OC, IC, KH, KW] = [4, 3, 2, 3].");
}

TEST(Conv2d, ChecksEverythingBeforeItPacks) {
  Case c(small_problem());
  c.w.set_strides({1, 4, 12, 24});
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_UNSUPPORTED);
  EXPECT_THAT(hconv_last_error(), StartsWith("w is not contiguous"));
  c.w.dl.strides = nullptr;
  c.y.dl.data = c.w.dl.data;
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr),
            HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), StartsWith("y overlaps w"));
}

TEST(ZeroBatch, SucceedsWithNullDataAndTouchesNothing) {
  hconv_problem p = small_problem();
  p.batch = 0;
  Case c(p);
  c.x.dl.data = c.y.dl.data = nullptr;
  PlanHolder plan(p);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  EXPECT_EQ(hconv_run(plan, &c.x.dl, nullptr, nullptr, &c.y.dl, nullptr, 0, nullptr), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
      << hconv_last_error();
  int64_t shape[4];
  hconv_plan_output_shape(plan, shape);
  EXPECT_THAT(shape, testing::ElementsAre(0, 4, 4, 4));
}

} // namespace
