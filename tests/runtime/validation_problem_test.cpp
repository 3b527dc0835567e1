// Each refusal of a problem: its status and its whole sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tensor.h"

namespace {

using namespace hconv_test;

struct Refusal {
  const char *name;
  std::function<void(hconv_problem &)> change;
  hconv_status status;
  const char *sentence;
};

class ProblemRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ProblemRefusal, NamesArgumentFoundAndExpected) {
  hconv_problem p = small_problem();
  GetParam().change(p);
  hconv_plan *plan = reinterpret_cast<hconv_plan *>(1);
  EXPECT_EQ(hconv_plan_create(&p, &plan), GetParam().status);
  if (GetParam().sentence)
    EXPECT_STREQ(hconv_last_error(), GetParam().sentence);
  else // the last part depends on the processor's variants
    EXPECT_THAT(hconv_last_error(), testing::HasSubstr("2^31 elements or more"));
  EXPECT_EQ(plan, nullptr);
}

const Refusal refusals[] = {
    {"Int8",
     [](hconv_problem &p) {
       p.dtype = {kDLInt, 8, 1};
     },
     HCONV_UNSUPPORTED, "problem.dtype has element type int8; expected float32, bfloat16 or float16."},
    {"Float64",
     [](hconv_problem &p) {
       p.dtype = {kDLFloat, 64, 1};
     },
     HCONV_UNSUPPORTED, "problem.dtype has element type float64; expected float32, bfloat16 or float16."},
    {"VectorLanes",
     [](hconv_problem &p) {
       p.dtype = {kDLFloat, 32, 4};
     },
     HCONV_UNSUPPORTED, "problem.dtype has element type float32x4; expected float32, bfloat16 or float16."},
    {"Vulkan",
     [](hconv_problem &p) {
       p.device = {kDLVulkan, 0};
     },
     HCONV_UNSUPPORTED, "problem.device is on DLPack device type 7:0; expected cpu (kDLCPU) or cuda (kDLCUDA)."},
    {"NegativeOrdinal",
     [](hconv_problem &p) {
       p.device = {kDLCUDA, -1};
     },
     HCONV_INVALID_ARGUMENT,
     "problem.device is on cuda:-1; expected cpu with ordinal 0 or cuda with an ordinal from 0."},
    {"SecondCpu",
     [](hconv_problem &p) {
       p.device = {kDLCPU, 1};
     },
     HCONV_INVALID_ARGUMENT, "problem.device is on cpu:1; expected cpu with ordinal 0 or cuda with an ordinal from 0."},
    {"Math",
     [](hconv_problem &p) {
       const int other = 3;
       std::memcpy(&p.math, &other, sizeof other);
     },
     HCONV_INVALID_ARGUMENT, "math is 3; expected HCONV_MATH_FP32, HCONV_MATH_STRICT or HCONV_MATH_TF32."},
    {"NegativeBatch", [](hconv_problem &p) { p.batch = -1; }, HCONV_INVALID_ARGUMENT,
     "The batch B is -1; expected at least 0."},
    {"NoInputChannel", [](hconv_problem &p) { p.in_channels = 0; }, HCONV_INVALID_ARGUMENT,
     "The number of input channels IC is 0; expected at least 1."},
    {"NoOutputChannel", [](hconv_problem &p) { p.out_channels = 0; }, HCONV_INVALID_ARGUMENT,
     "The number of output channels OC is 0; expected at least 1."},
    {"NoHeight", [](hconv_problem &p) { p.height = 0; }, HCONV_INVALID_ARGUMENT,
     "The height H is 0; expected at least 1."},
    {"NoWidth", [](hconv_problem &p) { p.width = 0; }, HCONV_INVALID_ARGUMENT,
     "The width W is 0; expected at least 1."},
    {"NoKernelHeight", [](hconv_problem &p) { p.kernel_height = 0; }, HCONV_INVALID_ARGUMENT,
     "The kernel height KH is 0; expected at least 1."},
    {"NegativeKernelWidth", [](hconv_problem &p) { p.kernel_width = -3; }, HCONV_INVALID_ARGUMENT,
     "The kernel width KW is -3; expected at least 1."},
    {"NegativePadding", [](hconv_problem &p) { p.padding.left = -2; }, HCONV_INVALID_ARGUMENT,
     "padding.left is -2; expected at least 0."},
    {"KernelTooHigh", [](hconv_problem &p) { p.kernel_height = 6; }, HCONV_INVALID_ARGUMENT,
     "The output height OH would be 0; expected at least 1, with OH = H + top + bottom - KH + 1 = 5 + 0 + 0 - 6 + 1."},
    {"KernelTooWide", [](hconv_problem &p) { p.kernel_width = 9; }, HCONV_INVALID_ARGUMENT,
     "The output width OW would be -2; expected at least 1, with OW = W + left + right - KW + 1 = 6 + 0 + 0 - 9 + 1."},
    {"KernelOf65536", [](hconv_problem &p) { p.kernel_height = p.kernel_width = 65536; }, HCONV_INVALID_ARGUMENT,
     "The output height OH would be -65530; expected at least 1, with OH = H + top + bottom - KH + 1 = 5 + 0 + 0 - "
     "65536 + "
     "1."},
    {"ExtentBeyond32Bits", [](hconv_problem &p) { p.width = int64_t{1} << 31; }, HCONV_UNSUPPORTED,
     "The width W is 2147483648; expected at most 2147483647."},
    {"ExtentOf2To63", [](hconv_problem &p) { p.height = INT64_MAX; }, HCONV_UNSUPPORTED,
     "The height H is 9223372036854775807; expected at most 2147483647."},
    {"OutputBeyond32Bits",
     [](hconv_problem &p) {
       p.padding.top = INT32_MAX;
       p.padding.bottom = INT32_MAX;
     },
     HCONV_UNSUPPORTED, "The output height OH would be 4294967298; expected at most 2147483647."},
    {"ImageOfXTooLarge", [](hconv_problem &p) { p.in_channels = int64_t{1} << 30; }, HCONV_UNSUPPORTED,
     "One image of x is too large with extents [1073741824, 5, 6]; expected fewer than 2^31 elements."},
    {"ImageOfXExactlyAtTheLimit",
     [](hconv_problem &p) {
       p.in_channels = 1 << 11;
       p.height = 1 << 10;
       p.width = 1 << 10;
     },
     HCONV_UNSUPPORTED,
     "One image of x is too large with extents [2048, 1024, 1024]; expected fewer than 2^31 elements."},
    {"ImageOfXBeyond64Bits", [](hconv_problem &p) { p.in_channels = p.height = p.width = INT32_MAX; },
     HCONV_UNSUPPORTED,
     "One image of x is too large with extents [2147483647, 2147483647, 2147483647]; expected fewer than 2^31 "
     "elements."},
    {"ImageOfYTooLarge", [](hconv_problem &p) { p.out_channels = int64_t{1} << 28; }, HCONV_UNSUPPORTED,
     "One image of y is too large with extents [268435456, 4, 4]; expected fewer than 2^31 elements."},
    {"WeightsTooLarge",
     [](hconv_problem &p) {
       p.in_channels = p.out_channels = 1 << 14;
       p.kernel_height = 4;
       p.kernel_width = 2;
     },
     HCONV_UNSUPPORTED, "w is too large with extents [16384, 16384, 4, 2]; expected fewer than 2^31 elements."},
    {"PackedWeightsTooLarge",
     [](hconv_problem &p) { // 2^31 - 16384 elements, which every tile rounds up to 2^31
       p.in_channels = 1 << 14;
       p.out_channels = (1 << 17) - 1;
       p.height = p.width = p.kernel_height = p.kernel_width = 1;
     },
     HCONV_UNSUPPORTED, nullptr},
    {"BytesOfXBeyond64Bits",
     [](hconv_problem &p) {
       p.batch = INT32_MAX;
       p.in_channels = 2047;
       p.height = p.width = 1 << 10;
     },
     HCONV_UNSUPPORTED, "x is too large; expected fewer than 2^63 bytes."},
};

INSTANTIATE_TEST_SUITE_P(Sentences, ProblemRefusal, testing::ValuesIn(refusals),
                         [](const auto &info) { return info.param.name; });

TEST(Problem, NullArguments) {
  hconv_problem p = small_problem();
  hconv_plan *plan = nullptr;
  EXPECT_EQ(hconv_plan_create(&p, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "plan is null; expected the address of an hconv_plan pointer to fill.");
  EXPECT_EQ(hconv_plan_create(nullptr, &plan), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "problem is null; expected the address of an hconv_problem.");
  hconv_plan_destroy(nullptr);
}

TEST(ProblemFromTensors, ReadsShapesTypeAndDevice) {
  Tensor x({2, 3, 5, 6}, bfloat16), w({4, 3, 2, 3}, bfloat16);
  x.dl.data = w.dl.data = nullptr; // only shapes are read
  const hconv_padding padding = {1, 2, 3, 4};
  hconv_problem p;
  ASSERT_EQ(hconv_problem_from_tensors(&x.dl, &w.dl, &padding, HCONV_MATH_STRICT, &p), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(p.dtype.code, kDLBfloat);
  EXPECT_EQ(p.math, HCONV_MATH_STRICT);
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.in_channels, 3);
  EXPECT_EQ(p.height, 5);
  EXPECT_EQ(p.width, 6);
  EXPECT_EQ(p.out_channels, 4);
  EXPECT_EQ(p.kernel_height, 2);
  EXPECT_EQ(p.kernel_width, 3);
  EXPECT_EQ(p.padding.top, 1);
  EXPECT_EQ(p.padding.right, 4);
}

struct TensorRefusal {
  const char *name;
  std::function<void(Tensor &x, Tensor &w)> change;
  hconv_status status;
  const char *sentence;
};

class ProblemFromTensorsRefusal : public testing::TestWithParam<TensorRefusal> {};

TEST_P(ProblemFromTensorsRefusal, NamesArgumentFoundAndExpected) {
  Tensor x({2, 3, 5, 6}), w({4, 3, 2, 3});
  GetParam().change(x, w);
  hconv_problem p;
  EXPECT_EQ(hconv_problem_from_tensors(&x.dl, &w.dl, nullptr, HCONV_MATH_FP32, &p), GetParam().status);
  EXPECT_STREQ(hconv_last_error(), GetParam().sentence);
}

const TensorRefusal tensor_refusals[] = {
    {"Rank", [](Tensor &x, Tensor &) { x.dl.ndim = 3; }, HCONV_INVALID_ARGUMENT,
     "x has 3 dimensions; expected 4: [B, IC, H, W]."},
    {"NullShape", [](Tensor &, Tensor &w) { w.dl.shape = nullptr; }, HCONV_INVALID_ARGUMENT,
     "w.shape is null; expected 4 extents: [OC, IC, KH, KW]."},
    {"MixedTypes", [](Tensor &, Tensor &w) { w.dl.dtype = float16; }, HCONV_INVALID_ARGUMENT,
     "w has element type float16; expected float32, the type of x."},
    {"TypeOfX",
     [](Tensor &x, Tensor &) {
       x.dl.dtype = {kDLUInt, 8, 1};
     },
     HCONV_UNSUPPORTED, "x has element type uint8; expected float32, bfloat16 or float16."},
    {"MixedDevices", [](Tensor &, Tensor &w) { w.dl.device = cuda1; }, HCONV_INVALID_ARGUMENT,
     "w is on cuda:1; expected cpu, the device of x."},
    {"Channels", [](Tensor &, Tensor &w) { w.shape[1] = 5; }, HCONV_INVALID_ARGUMENT,
     "w has 5 input channels (shape [4, 5, 2, 3]); expected 3, the channels of x (shape [2, 3, 5, 6])."},
    {"Kernel", [](Tensor &, Tensor &w) { w.shape[2] = 0; }, HCONV_INVALID_ARGUMENT,
     "The kernel height KH is 0; expected at least 1."},
};

INSTANTIATE_TEST_SUITE_P(Sentences, ProblemFromTensorsRefusal, testing::ValuesIn(tensor_refusals),
                         [](const auto &info) { return info.param.name; });

TEST(ProblemFromTensors, NullArguments) {
  Tensor x({2, 3, 5, 6}), w({4, 3, 2, 3});
  hconv_problem p;
  EXPECT_EQ(hconv_problem_from_tensors(nullptr, &w.dl, nullptr, HCONV_MATH_FP32, &p), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "x is null; expected a DLTensor of shape [B, IC, H, W].");
  EXPECT_EQ(hconv_problem_from_tensors(&x.dl, nullptr, nullptr, HCONV_MATH_FP32, &p), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "w is null; expected a DLTensor of shape [OC, IC, KH, KW].");
  EXPECT_EQ(hconv_problem_from_tensors(&x.dl, &w.dl, nullptr, HCONV_MATH_FP32, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "problem is null; expected the address of an hconv_problem to fill.");
}

} // namespace
