// Channels last (NHWC): the library's choice on any shape, variants of NCHW behind a conversion, and weights in either
// order. What NHWC variants compute themselves is in exact_test, as for all others.
#include "convolution.h"

#include <set>
#include <tuple>

using namespace hconv_test;

namespace {

Shape make(int64_t B, int64_t IC, int64_t H, int64_t W, int64_t K, int64_t OC, int pad = 0) {
  Shape s;
  s.B = B, s.IC = IC, s.H = H, s.W = W, s.KH = s.KW = K, s.OC = OC;
  s.pad = {pad, pad, 0, pad};
  return s;
}

/** Whole and partial pieces of 8 channels, one channel and one pixel on either side, of which the orders coincide. */
const Shape shapes[] = {make(2, 16, 5, 7, 3, 8, 1), make(2, 16, 5, 7, 3, 5),  make(1, 3, 6, 9, 3, 16, 2),
                        make(2, 1, 5, 6, 3, 8),     make(2, 8, 5, 6, 3, 1),   make(3, 16, 1, 1, 1, 8),
                        make(2, 5, 4, 4, 4, 3),     make(1, 40, 4, 35, 1, 24)};

TEST(Nhwc, OfAnyShapeIsExact) {
  for (const Shape &s : shapes)
    for (Element type : all_elements)
      for (hconv_math math : {HCONV_MATH_STRICT, HCONV_MATH_FP32})
        EXPECT_TRUE(exact_on_integers(s, type, math, s.IC != 3, HCONV_LAYOUT_NHWC));
}

/** The first variants of each algorithm, type and layout. */
std::vector<Variant> samples() {
  std::vector<Variant> some;
  std::set<std::tuple<std::string, Element, hconv_layout>> seen;
  for (const Variant &v : all_variants())
    if (seen.insert({v.algorithm, v.type, v.layout}).second)
      some.push_back(v);
  return some;
}

class Converted : public testing::TestWithParam<Variant> {};

TEST_P(Converted, VariantsServeTheOtherLayout) {
  const Variant &v = GetParam();
  for (const Shape &given : {make(2, 5, 6, 9, 3, 7, 1), make(2, 1, 6, 9, 3, 7), make(1, 6, 5, 5, 3, 1)}) {
    const Shape s = v.fitted(given);
    const ExactCase &exact = exact_case(s, true);
    Convolution nchw(s, v.type, v.name, v.math()), nhwc(s, v.type, v.name, v.math(), HCONV_LAYOUT_NHWC);
    Convolution &own = v.layout == HCONV_LAYOUT_NHWC ? nhwc : nchw,
                &other = v.layout == HCONV_LAYOUT_NHWC ? nchw : nhwc;
    const Elements expected = own(exact.inputs), found = other(exact.inputs);
    EXPECT_TRUE(right_on_integers(s, other.variant(), found, exact.y, exact.inputs));
    if (other.variant() == own.variant()) {
      EXPECT_EQ(found, expected) << "the same kernel, but other bits";
    }
    EXPECT_GE(hconv_plan_minimum_workspace_bytes(other.plan()),
              (s.IC > 1 ? s.x_size() : 0) * bytes_of(v.type) + (s.OC > 1 ? s.y_size() : 0) * bytes_of(v.type));
  }
}

TEST_P(Converted, PacksWeightsOfEitherOrder) {
  const Variant &v = GetParam();
  const Shape s = v.fitted(make(1, 5, 6, 9, 3, 7));
  const ExactCase &exact = exact_case(s, false);
  Convolution convolution(s, v.type, v.name, v.math());
  const Elements row_major = convolution(exact.inputs);
  convolution.set_weights_layout(HCONV_LAYOUT_NHWC);
  EXPECT_EQ(convolution(exact.inputs), row_major);
}

INSTANTIATE_TEST_SUITE_P(Variants, Converted, testing::ValuesIn(samples()),
                         [](const auto &info) { return info.param.name; });

TEST(Nhwc, VariantsPackWeightsOfEitherOrder) {
  for (const Variant &v : all_variants()) {
    if (v.layout != HCONV_LAYOUT_NHWC)
      continue;
    const Shape s = v.fitted(make(1, 8, 4, 5, 3, 8));
    const ExactCase &exact = exact_case(s, false);
    Convolution convolution(s, v);
    convolution.set_weights_layout(HCONV_LAYOUT_NCHW);
    EXPECT_TRUE(equals_rounded(s, convolution(exact.inputs), exact.y)) << v.name;
    break; // all of them read what one kernel packs
  }
}

} // namespace
