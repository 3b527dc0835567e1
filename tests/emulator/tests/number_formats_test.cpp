// The twin's conversions against their definition, worked out in double precision.
#include "number_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

/// Value of a 16-bit pattern with this many exponent and fraction bits, straight from the definition. NaN for a NaN.
double defined_value(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Format {
  const char *name;
  int exponent_bits, fraction_bits;
  uint16_t (*bits)(float);
  float (*value)(uint16_t);
  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponent_bits) - 1) << fraction_bits); }
};

class SixteenBitFormat : public testing::TestWithParam<Format> {};

TEST_P(SixteenBitFormat, EveryPatternHasItsValueAndComesBack) {
  const Format &f = GetParam();
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double expected = defined_value(bits, f.exponent_bits, f.fraction_bits);
    const float value = f.value(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(std::isnan(f.value(f.bits(value)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << i;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << i;
    ASSERT_EQ(f.bits(value), bits) << i;
  }
}

TEST_P(SixteenBitFormat, RoundsToNearestAndTiesToEvenBetweenAllNeighbours) {
  const Format &f = GetParam();
  for (uint32_t i = 0; i + 1 < f.infinity(); ++i) {
    const auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    const double middle =
        (defined_value(low, f.exponent_bits, f.fraction_bits) + defined_value(high, f.exponent_bits, f.fraction_bits)) /
        2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle) << "the tie is a float32";
    const uint16_t even = i % 2 == 0 ? low : high;
    ASSERT_EQ(f.bits(tie), even) << i;
    ASSERT_EQ(f.bits(-tie), even | 0x8000) << i;
    const float below = std::nextafterf(tie, 0.0f);
    const float above = std::nextafterf(tie, std::numeric_limits<float>::infinity());
    ASSERT_EQ(f.bits(below), low) << i;
    ASSERT_EQ(f.bits(above), high) << i;
  }
}

TEST_P(SixteenBitFormat, OverflowBeginsHalfAStepAboveTheLargest) {
  const Format &f = GetParam();
  const auto largest = static_cast<uint16_t>(f.infinity() - 1);
  const double step = std::ldexp(1.0, (1 << (f.exponent_bits - 1)) - 1 - f.fraction_bits);
  const auto limit = static_cast<float>(defined_value(largest, f.exponent_bits, f.fraction_bits) + step / 2);
  EXPECT_EQ(f.bits(limit), f.infinity()) << "the tie goes to the even pattern, infinity";
  EXPECT_EQ(f.bits(std::nextafterf(limit, 0.0f)), largest);
  EXPECT_EQ(f.bits(-limit), f.infinity() | 0x8000);
  EXPECT_EQ(f.bits(std::numeric_limits<float>::max()), f.infinity());
  EXPECT_EQ(f.bits(std::numeric_limits<float>::infinity()), f.infinity());
  EXPECT_EQ(f.bits(-std::numeric_limits<float>::infinity()), f.infinity() | 0x8000);
}

TEST_P(SixteenBitFormat, TinyValuesKeepTheirSign) {
  const Format &f = GetParam();
  EXPECT_EQ(f.bits(0.0f), 0);
  EXPECT_EQ(f.bits(-0.0f), 0x8000);
  EXPECT_EQ(f.bits(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f.bits(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

TEST_P(SixteenBitFormat, EveryNaNStaysOne) {
  const Format &f = GetParam();
  for (uint32_t fraction = 1; fraction < 0x800000u; fraction = fraction * 2 + 1) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float nan = hconv::twin::float_of(sign | 0x7f800000u | fraction);
      EXPECT_TRUE(std::isnan(f.value(f.bits(nan)))) << fraction;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SixteenBitFormat,
                         testing::Values(Format{"float16", 5, 10, hconv::half_bits, hconv::half_value},
                                         Format{"bfloat16", 8, 7, hconv::bfloat16_bits, hconv::bfloat16_value}),
                         [](const auto &info) { return info.param.name; });

TEST(Tf32, RoundsToTenFractionBitsWithTiesAwayFromZero) {
  using hconv::tf32_bits;
  using hconv::twin::float_of;
  const float step = 0x1p-10f;
  for (int exponent = -120; exponent <= 120; exponent += 8) {
    for (int i = 0; i < 1024; ++i) {
      const float scale = std::ldexp(1.0f, exponent);
      const float low = (1 + static_cast<float>(i) * step) * scale, high = low + step * scale;
      const float tie = (low + high) / 2; // exact: 11 fraction bits
      ASSERT_EQ(float_of(tf32_bits(low)), low);
      ASSERT_EQ(float_of(tf32_bits(tie)), high);
      ASSERT_EQ(float_of(tf32_bits(-tie)), -high);
      ASSERT_EQ(float_of(tf32_bits(std::nextafterf(tie, 0.0f))), low);
    }
  }
}

TEST(Tf32, SpecialValues) {
  using hconv::tf32_bits;
  using hconv::twin::float_of;
  EXPECT_EQ(tf32_bits(0.0f), 0u);
  EXPECT_EQ(tf32_bits(-0.0f), 0x80000000u);
  EXPECT_EQ(float_of(tf32_bits(INFINITY)), INFINITY);
  EXPECT_EQ(float_of(tf32_bits(-INFINITY)), -INFINITY);
  EXPECT_TRUE(std::isnan(float_of(tf32_bits(NAN))));
  EXPECT_EQ(float_of(tf32_bits(std::numeric_limits<float>::max())), INFINITY);
}

} // namespace
