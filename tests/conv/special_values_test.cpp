// NaN, infinities and subnormals, in x and in w: IEEE arithmetic, in exactly the outputs whose window holds them.
#include "convolution.h"

#include <cmath>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace hconv_test;

namespace {

const double nan_value = NAN, inf = INFINITY;

class SpecialValues : public testing::TestWithParam<Variant> {
protected:
  void SetUp() override {
    shape.B = 2, shape.IC = 4, shape.OC = 6, shape.H = 12, shape.W = 13, shape.KH = 3, shape.KW = 5;
    shape = GetParam().fitted(shape);
    inputs = normal_inputs(shape, GetParam().type, true);
  }

  /** Runs the changed inputs beside the clean ones: where the float64 result is finite in both, the bits must not
   * differ; elsewhere they must be the NaN or infinity of the float64 result. Returns how many outputs are not finite.
   */
  size_t check_spread(Convolution &convolution, const Inputs &clean, const Inputs &changed) {
    const Elements before = convolution(clean), after = convolution(changed);
    const std::vector<double> expected = convolve(convolution.shape(), changed);
    size_t special = 0, wrong = 0;
    std::string first;
    for (size_t i = 0; i < expected.size(); i++) {
      const double value = after.value(i);
      bool right;
      if (std::isfinite(expected[i])) {
        right = before.bits(i) == after.bits(i);
      } else {
        special++;
        right = std::isnan(expected[i]) ? std::isnan(value) : value == expected[i];
      }
      if (!right && wrong++ == 0)
        first = testing::PrintToString(value) + " at " + std::to_string(i) + ", expected " +
                testing::PrintToString(expected[i]) + ", was " + testing::PrintToString(before.value(i));
    }
    EXPECT_EQ(wrong, 0u) << "of " << expected.size() << " outputs, of which " << special
                         << " should be special; the first wrong one is " << first;
    return special;
  }

  /** One special element at a time, in x or in w, the others unchanged: each value in each place, or on the emulator one
   * value in each, another one for the next variant. */
  void spread_from(std::vector<double> Inputs::*tensor, const std::vector<size_t> &places, const Shape &s) {
    const Inputs clean = normal_inputs(s, GetParam().type, true);
    Convolution convolution(s, GetParam());
    const double values[] = {nan_value, inf, -inf};
    const bool all = !emulated() || full_run();
    for (size_t v = 0; v < std::size(values); v++)
      for (size_t p = 0; p < places.size(); p++) {
        if (!all && (p + GetParam().index) % std::size(values) != v)
          continue;
        const double value = values[v];
        const size_t place = places[p];
        SCOPED_TRACE(testing::Message() << value << " at element " << place);
        Inputs changed = clean;
        (changed.*tensor)[place] = value;
        EXPECT_GT(check_spread(convolution, clean, changed), 0u);
        if (HasFailure())
          return;
      }
  }

  Shape shape;
  Inputs inputs;
};

TEST_P(SpecialValues, InXReachTheirWindows) {
  const size_t image = shape.IC * shape.H * shape.W, row = shape.W;
  std::vector<size_t> places = {0, row - 1, image - 1, image, 2 * image - 1};
  if (!emulated() || full_run())
    places.insert(places.end(), {image / 2 + 5, image - row, image + 3 * row + 7});
  spread_from(&Inputs::x, places, shape);
}

TEST_P(SpecialValues, InWReachTheirChannel) {
  const size_t filter = shape.IC * shape.KH * shape.KW;
  std::vector<size_t> places = {0, size_t(shape.w_size()) - 1, filter * 5 / 2};
  spread_from(&Inputs::w, places, shape);
}

TEST_P(SpecialValues, InXWithPadding) {
  Shape padded = shape;
  padded.H = shape.KH + 1, padded.W = shape.KW, padded.pad = {2, 1, 3, 2};
  spread_from(&Inputs::x, {0, size_t(padded.W) - 1, size_t(padded.x_size()) - 1}, padded);
}

// A tap outside x multiplies a 0, so an infinite or NaN weight gives NaN there too.
TEST_P(SpecialValues, InWWithPadding) {
  Shape padded = shape;
  padded.H = shape.KH - 1, padded.W = 3, padded.pad = {2, 1, 3, int32_t(shape.KW)};
  spread_from(&Inputs::w, {0, size_t(padded.w_size()) - 1}, padded);
}

TEST_P(SpecialValues, InBiasReachTheirChannel) {
  Convolution convolution(shape, GetParam());
  Inputs changed = inputs;
  changed.bias[4] = nan_value, changed.bias[0] = -inf;
  EXPECT_EQ(check_spread(convolution, inputs, changed), size_t(2 * shape.y_size() / shape.OC));
}

TEST_P(SpecialValues, InfinityTimesZeroAndInfinityMinusInfinity) {
  Inputs clean = inputs;
  clean.w[0] = 0; // tap 0 of the first filter and channel
  Inputs changed = clean;
  changed.x[3 * shape.W + 6] = inf; // meets that 0 in one output: NaN; elsewhere +-inf
  changed.x[shape.H * shape.W * 2 + 3] = inf;
  changed.x[shape.H * shape.W * 2 + 4] = -inf; // side by side: windows that hold both give NaN or an infinity
  const std::vector<double> expected = convolve(shape, changed);
  EXPECT_TRUE(std::isnan(expected[3 * shape.OW() + 6]));
  Convolution convolution(shape, GetParam());
  check_spread(convolution, clean, changed);
}

// The rule, on every device and for every type: subnormal inputs and outputs keep their values.
TEST_P(SpecialValues, SubnormalsAreKept) {
  const Element type = GetParam().type;
  const double tiny = std::ldexp(1.0, smallest_exponent(type));
  const int steps = 1 << std::min(precision(type) - 1, 8); // up to the normal numbers, or the first 256
  Shape s;
  s.W = steps, s.OC = 3;
  s = GetParam().fitted(s);
  const int64_t taps = s.KH * s.KW;
  Inputs in;
  in.x.assign(s.x_size(), 0), in.w.assign(s.w_size(), 0);
  for (int i = 0; i < steps; i++)
    in.x[i] = (i % 2 ? -i : i) * tiny;
  in.w[0] = 1, in.w[taps] = -1, in.w[2 * taps] = 3;
  Convolution convolution(s, GetParam());
  EXPECT_TRUE(equals_rounded(s, convolution(in), convolve(s, in)));

  // Subnormal weights, and a product of two normal numbers that is subnormal.
  Inputs weights = in;
  for (int i = 0; i < steps; i++)
    weights.x[i] = 1 + i % 7;
  weights.w[0] = tiny, weights.w[taps] = -3 * tiny, weights.w[2 * taps] = 5 * tiny;
  EXPECT_TRUE(equals_rounded(s, convolution(weights), convolve(s, weights)));
  const double half_way = std::ldexp(1.0, smallest_exponent(type) / 2 + (type == Element::f16 ? 0 : 2));
  for (int i = 0; i < steps; i++)
    weights.x[i] = (1 + i % 7) * half_way;
  weights.w[0] = half_way, weights.w[taps] = -half_way, weights.w[2 * taps] = 3 * half_way;
  EXPECT_TRUE(equals_rounded(s, convolution(weights), convolve(s, weights)));
}

INSTANTIATE_TEST_SUITE_P(Variants, SpecialValues, testing::ValuesIn(summing_variants()),
                         [](const auto &info) { return info.param.name; });

#if defined(__x86_64__)
TEST(FloatingPointMode, OfTheCallerIsLeftAsItWas) {
  Shape s;
  s.IC = 2, s.H = s.W = 6, s.KH = s.KW = 3;
  const unsigned before = _mm_getcsr(), flush_and_round_up = (before & ~0x6000u) | 0x8040u | 0x4000u;
  _mm_setcsr(flush_and_round_up);
  unsigned after;
  {
    Convolution convolution(s, Element::f32, "", HCONV_MATH_FP32);
    convolution(integer_inputs(s, false));
    after = _mm_getcsr();
  }
  _mm_setcsr(before);
  const unsigned sticky = 0x3f; // exception flags may be raised
  EXPECT_EQ(after & ~sticky, flush_and_round_up & ~sticky);
}
#endif

} // namespace
