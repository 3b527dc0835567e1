// HCONV_CHECK=1 passes right results and catches a wrong one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "environment_guard.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

hconv_status convolve(Case &c) {
  return hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, &c.problem.padding, HCONV_MATH_FP32, &c.y.dl, nullptr);
}

TEST(Check, PassesRightResults) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  hconv_problem p = small_problem();
  p.padding = {1, 2, 3, 4};
  Case c(p);
  for (int64_t i = 0; i < c.x.count(); ++i)
    c.x.floats()[i] = std::sin(static_cast<float>(i));
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
}

TEST(Check, PassesBfloat16AndSpecialValues) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  hconv_problem p = small_problem();
  p.dtype = bfloat16;
  Case c(p);
  auto *x = static_cast<uint16_t *>(c.x.dl.data), *w = static_cast<uint16_t *>(c.w.dl.data);
  for (int64_t i = 0; i < c.x.count(); ++i)
    x[i] = static_cast<uint16_t>(0x3f00 + i);
  for (int64_t i = 0; i < c.w.count(); ++i)
    w[i] = static_cast<uint16_t>(0x3e80 + 3 * i);
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  x[7] = 0x7f80; // infinity
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
}

TEST(Check, PassesNanAndInfinity) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  Case c(small_problem());
  c.x.floats()[3] = NAN;
  c.x.floats()[100] = INFINITY;
  EXPECT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
}

TEST(Check, NamesTheFirstWrongOutput) {
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_direct_f32_wrong_cpu_baseline");
  Case c(small_problem());
  EXPECT_EQ(convolve(c), HCONV_OK) << "unchecked calls are not compared";
  EnvironmentGuard check("HCONV_CHECK", "1");
  EXPECT_EQ(convolve(c), HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(),
              HasSubstr("HCONV_CHECK: conv2d_direct_f32_wrong_cpu_baseline computed y[0,0,0,1] = "));
}

} // namespace
