// hconv.hpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hconv/hconv.hpp"
#include "tensor.h"

namespace {

using testing::HasSubstr;

TEST(Wrapper, PlanPackRun) {
  hconv_test::Case c(hconv_test::small_problem());
  hconv::Tensor x(c.x.floats(), {2, 3, 5, 6}), w(c.w.floats(), {4, 3, 2, 3}), y(c.y.floats(), {2, 4, 4, 4}),
      bias(c.bias.floats(), {4});
  hconv::Plan plan(hconv::problem(x, w));
  EXPECT_THAT(plan.output_shape(), testing::ElementsAre(2, 4, 4, 4));
  EXPECT_EQ(plan.minimum_workspace_bytes(), 0u);
  EXPECT_THAT(plan.variant(), HasSubstr("conv2d_direct_f32"));
  hconv::Memory packed(plan.device(), plan.packed_bytes());
  plan.pack(w, packed.data(), packed.bytes());
  plan.run(x, packed.data(), y, &bias);
  EXPECT_EQ(c.found(), c.expected(true));
  hconv::Plan moved = std::move(plan);
  const hconv::Tensor copy = x; // has its own shape
  moved.run(copy, packed.data(), y);
  EXPECT_EQ(c.found(), c.expected(false));
}

TEST(Wrapper, OneCall) {
  hconv_problem p = hconv_test::small_problem();
  p.padding = {1, 0, 2, 1};
  hconv_test::Case c(p);
  hconv::Tensor x(c.x.floats(), {2, 3, 5, 6}), w(c.w.floats(), {4, 3, 2, 3}), y(c.y.floats(), {2, 4, c.oh, c.ow});
  hconv::conv2d(x, w, y, nullptr, p.padding);
  EXPECT_EQ(c.found(), c.expected(false));
}

TEST(Wrapper, ErrorsCarryTheSentenceAndTheStatus) {
  float data[64] = {};
  hconv::Tensor x(data, {1, 1, 4, 4}), w(data, {1, 2, 3, 3});
  try {
    hconv::problem(x, w);
    FAIL() << "nothing was thrown";
  } catch (const hconv::Error &error) {
    EXPECT_EQ(error.status(), HCONV_INVALID_ARGUMENT);
    EXPECT_STREQ(error.what(),
                 "w has 2 input channels (shape [1, 2, 3, 3]); expected 1, the channels of x (shape [1, 1, "
                 "4, 4]).");
  }
  EXPECT_THROW(hconv::Tensor(data, {1, 1, 1, 1, 1}), hconv::Error);
  EXPECT_THROW(hconv::Tensor(data, {1, 1, 1}, hconv::float32, hconv::cpu, HCONV_LAYOUT_NHWC), hconv::Error);
  EXPECT_THROW(hconv::Memory(hconv::cuda(), 16), hconv::Error);
  EXPECT_THROW(hconv::device_name(hconv::cuda()), hconv::Error);
}

TEST(Wrapper, Texts) {
  EXPECT_THAT(hconv::explain(hconv_test::small_problem()), HasSubstr("declined"));
  EXPECT_THAT(hconv::list(), HasSubstr("pack_b32_cuda"));
  EXPECT_EQ(hconv::default_device().device_type, kDLCPU);
  EXPECT_FALSE(hconv::device_name(hconv::cpu).empty());
}

TEST(Wrapper, TensorsOfNhwc) {
  hconv_test::Case c(hconv_test::small_problem());
  const std::vector<double> expected = c.expected(false);
  hconv_test::make_channels_last(c.x);
  const auto tensor = [](hconv_test::Tensor &t, std::initializer_list<int64_t> shape) {
    return hconv::Tensor(t.floats(), shape, hconv::float32, hconv::cpu, HCONV_LAYOUT_NHWC);
  };
  const hconv::Tensor x = tensor(c.x, {2, 3, 5, 6}), w(c.w.floats(), {4, 3, 2, 3});
  hconv::Tensor y = tensor(c.y, {2, 4, 4, 4}); // a copy has its own strides
  EXPECT_EQ(hconv::problem(x, w).layout, HCONV_LAYOUT_NHWC);
  hconv::conv2d(x, w, y);
  c.y.set_strides({64, 1, 16, 4});
  hconv_test::make_row_major(c.y);
  EXPECT_EQ(c.found(), expected);
}

} // namespace
