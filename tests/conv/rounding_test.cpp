// The store: one rounding to nearest, ties to even, subnormals kept, overflow to infinity.
#include "convolution.h"

#include <cmath>

using namespace hconv_test;

namespace {

// Kernels of one tap, or the smallest that the variant takes with 0 in all other taps.
class Rounding : public testing::TestWithParam<Variant> {};

/** Finite non-negative elements: all of them, or, for a quick run, every 61st and the neighbourhood of powers of two.
 */
std::vector<double> finite_elements(Element type) {
  const int fraction_bits = precision(type) - 1;
  const uint32_t top = bits_of(type, largest(type)), mask = (1u << fraction_bits) - 1;
  const bool all = !emulated() || full_run();
  std::vector<double> values;
  for (uint32_t bits = 0; bits <= top; bits++) {
    const uint32_t fraction = bits & mask;
    if (all || bits % 61 == 0 || fraction < 2 || fraction > mask - 2 || bits > top - 40)
      values.push_back(value_of(type, bits));
  }
  return values;
}

/** Distance from the element `value` to the next larger one. */
double unit(Element type, double value) {
  const int exponent = value == 0 ? smallest_exponent(type) : std::ilogb(value) + 1 - precision(type);
  return std::ldexp(1.0, std::max(exponent, smallest_exponent(type)));
}

// For each element v and the distance u to its upper neighbour: v, and u/2 (a tie) with a small amount below, at and
// above it, both signs. The sums are built from three channels, v * 1 + u * (1/2) + u * (-+1/16), all exact in float32.
TEST_P(Rounding, EveryTieGoesToEven) {
  const Element type = GetParam().type;
  const std::vector<double> elements = finite_elements(type);
  const int64_t n = int64_t(elements.size());
  Shape s;
  s.IC = 3, s.H = 2, s.W = n, s.OC = 3;
  s = GetParam().fitted(s);
  const int64_t taps = s.KH * s.KW;
  Inputs in;
  in.x.assign(s.x_size(), 0), in.w.assign(s.w_size(), 0);
  for (int64_t h = 0; h < 2; h++) {
    const double sign = h ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
      in.x[(0 * s.H + h) * s.W + i] = sign * elements[i];
      in.x[(1 * s.H + h) * s.W + i] = sign * unit(type, elements[i]);
      in.x[(2 * s.H + h) * s.W + i] = sign * unit(type, elements[i]);
    }
  }
  const double nudge[3] = {-1.0 / 16, 0, 1.0 / 16};
  for (int64_t oc = 0; oc < 3; oc++) {
    in.w[(oc * 3 + 0) * taps] = 1;
    in.w[(oc * 3 + 1) * taps] = 0.5;
    in.w[(oc * 3 + 2) * taps] = nudge[oc];
  }
  // The float64 sums are exact, so round_to has the very value that the store has to round.
  const std::vector<double> exact = convolve(s, in);
  for (double value : exact)
    ASSERT_EQ(value, double(float(value))) << "the test's sums must be exact in float32";
  Convolution convolution(s, GetParam());
  EXPECT_TRUE(equals_rounded(s, convolution(in), exact));
}

// Literal values from the definition of the formats, so that the test's own rounding is not its only judge.
TEST_P(Rounding, KnownValues) {
  struct Known {
    double a, b; // the output is a * 1 + b * 0.5
    double expected;
  };
  const double inf = INFINITY;
  const std::vector<Known> bf16 = {{256, 2, 256},
                                   {258, 2, 260},
                                   {260, 2, 260},
                                   {-256, -2, -256},
                                   {-258, -2, -260},
                                   {1, 0, 1},
                                   {1, 1.0 / 128, 1},
                                   {128, 1, 128},
                                   {129, 1, 130},
                                   {0, 0, 0},
                                   {0x1.fep127, 0x1p121, inf},
                                   {0x1.fep127, 0x1p120, inf},
                                   {0x1.fep127, 0x1p119, 0x1.fep127}};
  const std::vector<Known> f16 = {{2048, 2, 2048},
                                  {2050, 2, 2052},
                                  {-2050, -2, -2052},
                                  {65504, 0, 65504},
                                  {65504, 30, 65504},
                                  {65504, 31.984375, 65504},
                                  {65504, 32, inf},
                                  {-65504, -32, -inf},
                                  {65504, 65504, inf},
                                  {0x1p-24, 0, 0x1p-24},
                                  {0, 0x1p-24, 0},
                                  {0x1p-24, 0x1p-24, 0x1p-23},
                                  {0x1.ff8p-15, 0x1p-24, 0x1p-14}};
  const std::vector<Known> &known = GetParam().type == Element::bf16 ? bf16 : f16;
  const int64_t n = int64_t(known.size());
  Shape s;
  s.IC = 2, s.W = n;
  s = GetParam().fitted(s);
  Inputs in;
  in.x.assign(s.x_size(), 0), in.w.assign(s.w_size(), 0);
  std::vector<double> expected;
  for (int64_t i = 0; i < n; i++) {
    in.x[i] = known[i].a, in.x[s.H * s.W + i] = known[i].b;
    expected.push_back(known[i].expected);
  }
  in.w[0] = 1, in.w[s.KH * s.KW] = 0.5;
  expected.resize(s.y_size(), 0); // other channels of a variant that writes several
  Convolution convolution(s, GetParam());
  EXPECT_TRUE(equals_rounded(s, convolution(in), expected));
}

// Rounding comes once, after the bias: 2048 + 1 + 1 is 2050 in f16, where rounding before the bias would leave 2048.
TEST_P(Rounding, BiasIsAddedBeforeTheStore) {
  const double big = GetParam().type == Element::bf16 ? 256 : 2048;
  Shape s;
  s.IC = 2, s.W = 3, s.OC = 2;
  s = GetParam().fitted(s);
  const int64_t taps = s.KH * s.KW;
  Inputs in;
  in.x.assign(s.x_size(), 0), in.w.assign(s.w_size(), 0);
  for (int64_t i = 0; i < s.W; i++)
    in.x[i] = big, in.x[s.H * s.W + i] = 1;
  for (int64_t oc = 0; oc < 2; oc++)
    in.w[oc * 2 * taps] = 1, in.w[(oc * 2 + 1) * taps] = 1;
  in.bias = {1, -1};
  std::vector<double> expected;
  for (int64_t oc = 0; oc < 2; oc++)
    expected.insert(expected.end(), s.OW(), oc == 0 ? big + 2 : big);
  in.bias.resize(s.OC, 0), expected.resize(s.y_size(), 0); // as above
  Convolution convolution(s, GetParam());
  EXPECT_TRUE(equals_rounded(s, convolution(in), expected));
}

INSTANTIATE_TEST_SUITE_P(Variants, Rounding, testing::ValuesIn(without_twins(variants_of_16_bits())),
                         [](const auto &info) { return info.param.name; });

} // namespace
