// Real numbers: errors against float64 within bounds derived from the order-independent analysis of a float32 sum.
#include "convolution.h"

#include <cmath>

using namespace hconv_test;

namespace {

class Numerics : public testing::TestWithParam<Variant> {};

Shape square(int64_t B, int64_t C, int64_t size, int64_t K) {
  Shape s;
  s.B = B, s.IC = s.OC = C, s.H = s.W = size, s.KH = s.KW = K;
  return s;
}

TEST_P(Numerics, NormalDataWithinTheDerivedBound) {
  std::vector<Shape> shapes;
  for (int64_t terms : {1, 12, 130}) {
    Shape s = square(2, terms, 7, 1);
    s.KH = 3, s.KW = 4, s.W = 8, s.OC = 5;
    shapes.push_back(GetParam().fitted(s));
  }
  shapes.back().pad = {1, 0, 2, 1};
  for (const Shape &s : shapes) {
    const Inputs in = normal_inputs(s, GetParam().type, true);
    Convolution convolution(s, GetParam());
    EXPECT_TRUE(within_bound(s, convolution.variant(), convolution(in), convolve(s, in), in));
  }
}

// Products of 24-bit integers summed to nothing but one of them: exact only if no input loses bits (TF32 keeps 11).
TEST_P(Numerics, OneHotWeightsKeepEveryBit) {
  if (GetParam().type != Element::f32)
    GTEST_SKIP() << "inputs of 12 bits and more are only exact in float32";
  Shape s = square(1, 16, 20, 8);
  if (full_run() || !emulated())
    s = square(1, 64, 64, 8);
  s = GetParam().fitted(s);
  Inputs in;
  in.w.assign(s.w_size(), 0);
  for (int64_t oc = 0; oc < s.OC; oc++)
    in.w[oc * s.terms() + oc * 37 % s.terms()] = 1;
  for (int64_t i = 0; i < s.x_size(); i++)
    in.x.push_back(double(2049 + 2 * (i * 7919 % 1024)));
  Convolution convolution(s, GetParam());
  EXPECT_TRUE(equals_rounded(s, convolution(in), convolve(s, in)));
  for (int64_t i = 0; i < s.x_size(); i++)
    in.x[i] = double((i * 2654435761LL) % (1 << 24) | 1);
  EXPECT_TRUE(equals_rounded(s, convolution(in), convolve(s, in)));
}

// Sums of ones: a 16-bit running sum would stick at 256 (bf16) or 2048 (f16).
TEST_P(Numerics, SumsOfOnesAreExact) {
  for (auto [C, K] : {std::pair<int64_t, int64_t>{64, 3}, {64, 8}, {1, 2}}) {
    Shape s = square(1, C, K, K);
    s.OC = 2;
    s = GetParam().fitted(s);
    Inputs ones;
    ones.x.assign(s.x_size(), 1), ones.w.assign(s.w_size(), 1);
    Convolution convolution(s, GetParam());
    EXPECT_TRUE(equals_rounded(s, convolution(ones), std::vector<double>(s.y_size(), double(s.terms()))));
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Numerics, testing::ValuesIn(without_twins(summing_variants())),
                         [](const auto &info) { return info.param.name; });

// Reductions up to 131072 as the library would compute them: the error stays one final rounding for the 16-bit types.
TEST(LongReductions, RelativeErrorDoesNotGrowIn16Bits) {
  for (Element type : {Element::bf16, Element::f16})
    for (int64_t K : {1, 4, 8, 16, 32}) {
      Shape s = square(1, 128, K + 1, K);
      s.OC = 32;
      Inputs in = normal_inputs(s, type, false, 6252);
      if (type == Element::f16) // keeps the sums below 65504
        for (double &w : in.w)
          w = round_to(type, w / 16);
      const std::vector<double> exact = convolve(s, in);
      Convolution convolution(s, type, "", HCONV_MATH_FP32);
      const std::vector<double> y = convolution(in).values();
      double error = 0, norm = 0;
      for (size_t i = 0; i < y.size(); i++)
        error += (y[i] - exact[i]) * (y[i] - exact[i]), norm += exact[i] * exact[i];
      EXPECT_LE(std::sqrt(error / norm), unit_roundoff(type)) << s.text() << " " << name(type);
    }
}

// One float32 chain would err by 2.5e-3 here: the kernels add blocks of the sum apart.
TEST(LongReductions, Float32Of131072TermsHasRmsErrorBelow5em4) {
  Shape s = square(1, 128, 33, 32);
  s.OC = 64;
  const Inputs in = normal_inputs(s, Element::f32, false, 6252);
  const std::vector<double> exact = convolve(s, in);
  Convolution convolution(s, Element::f32, "", HCONV_MATH_FP32);
  const Elements y = convolution(in);
  EXPECT_TRUE(within_bound(s, convolution.variant(), y, exact, in));
  double error = 0;
  for (size_t i = 0; i < y.size(); i++)
    error += (y.value(i) - exact[i]) * (y.value(i) - exact[i]);
  RecordProperty("rms_error", std::to_string(std::sqrt(error / double(y.size()))));
  EXPECT_LE(std::sqrt(error / double(y.size())), 5e-4) << "variant " << convolution.variant();
}

struct Contest {
  int64_t size, K, C, B;
};

class PublicContest : public testing::TestWithParam<Contest> {};

// Its sizes and tolerances (torch.allclose with rtol = atol = 1e-3), here against float64.
TEST_P(PublicContest, PassesAgainstFloat64) {
  const Contest c = GetParam();
  const Shape s = square(c.B, c.C, c.size, c.K);
  const Inputs in = normal_inputs(s, Element::f32, false, uint64_t(c.size + c.K));
  const std::vector<double> exact = convolve(s, in);
  Convolution convolution(s, Element::f32, "", HCONV_MATH_FP32);
  const Elements y = convolution(in);
  size_t wrong = 0;
  for (size_t i = 0; i < exact.size(); i++)
    wrong += !(std::fabs(y.value(i) - exact[i]) <= 1e-3 + 1e-3 * std::fabs(exact[i]));
  EXPECT_EQ(wrong, 0u) << "of " << exact.size() << " outputs, variant " << convolution.variant();
}

INSTANTIATE_TEST_SUITE_P(Sizes, PublicContest,
                         testing::Values(Contest{32, 4, 16, 1}, Contest{32, 4, 16, 2}, Contest{64, 4, 32, 1},
                                         Contest{64, 8, 32, 2}, Contest{128, 8, 64, 1}),
                         [](const auto &info) {
                           return "size" + std::to_string(info.param.size) + "_K" + std::to_string(info.param.K) +
                                  "_C" + std::to_string(info.param.C) + "_B" + std::to_string(info.param.B);
                         });

} // namespace
