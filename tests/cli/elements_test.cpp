#include "elements.h"

#include "npy_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace hconv::cli;
using namespace hconv_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

struct Format {
  Type type;
  int precision, lowest_exponent, highest_exponent; ///< significand bits; exponents of 1.xxx numbers
};
const Format formats[] = {{Type::f32, 24, -126, 127}, {Type::bf16, 8, -126, 127}, {Type::f16, 11, -14, 15}};

/** Rounding as IEEE 754 defines it, in float64: scaled to integers, rint, scaled back. Exact but for rint. */
double rounded(double value, const Format &format) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  const int exponent = std::max(std::ilogb(value), format.lowest_exponent);
  const double result =
      std::ldexp(std::rint(std::ldexp(value, format.precision - 1 - exponent)), exponent - format.precision + 1);
  return std::fabs(result) >= std::ldexp(1, format.highest_exponent + 1) ? std::copysign(HUGE_VAL, value) : result;
}

void expect_rounding(double value, const Format &format) {
  const double found = value_of_bits(round_to_bits(value, format.type), format.type);
  const double expected = rounded(value, format);
  ASSERT_EQ(found, expected) << std::hexfloat << value << " to " << type_name(format.type);
  ASSERT_EQ(std::signbit(found), std::signbit(expected)) << value;
}

TEST(Elements, RoundOnceToNearestEven) {
  std::mt19937_64 random(7);
  for (const Format &format : formats) {
    for (int i = 0; i < 200000; ++i) { // any float64 near the format's range
      const double significand = static_cast<double>(random() >> 11) * std::ldexp(1, -53) + 1;
      const int exponent = static_cast<int>(random() % 320) - 160;
      expect_rounding((random() & 1 ? -1 : 1) * std::ldexp(significand, exponent), format);
    }
    for (int exponent = format.lowest_exponent - 26; exponent <= format.highest_exponent + 1; ++exponent) {
      for (int i = 0; i < 300; ++i) { // ties, and their neighbours by one float64 step
        const double odd = static_cast<double>(2 * (random() % (uint64_t(1) << format.precision)) + 1);
        const double tie = std::ldexp(odd, exponent - format.precision);
        for (const double value : {tie, std::nextafter(tie, 0), std::nextafter(tie, HUGE_VAL), -tie}) {
          expect_rounding(value, format);
        }
      }
    }
  }
}

TEST(Elements, RoundTheEdges) {
  EXPECT_EQ(round_to_bits(65504, Type::f16), 0x7bffu);
  EXPECT_EQ(round_to_bits(std::nextafter(65520, 0), Type::f16), 0x7bffu);
  EXPECT_EQ(round_to_bits(65520, Type::f16), 0x7c00u);
  EXPECT_EQ(round_to_bits(-1e300, Type::f16), 0xfc00u);
  EXPECT_EQ(round_to_bits(std::ldexp(1, -24), Type::f16), 1u);
  EXPECT_EQ(round_to_bits(std::ldexp(1, -25), Type::f16), 0u);
  EXPECT_EQ(round_to_bits(std::nextafter(std::ldexp(1, -25), 1), Type::f16), 1u);
  EXPECT_EQ(round_to_bits(-0.0, Type::f16), 0x8000u);
  EXPECT_EQ(round_to_bits(1.00390625, Type::bf16), 0x3f80u);
  EXPECT_EQ(round_to_bits(1.01171875, Type::bf16), 0x3f82u);
  EXPECT_EQ(round_to_bits(3.5e38, Type::bf16), 0x7f80u);
  EXPECT_EQ(round_to_bits(HUGE_VAL, Type::bf16), 0x7f80u);
  // A float32 tie between two bfloat16 numbers that the float64 value lies just above of: double rounding gets it
  // wrong.
  EXPECT_EQ(round_to_bits(1.00390625 + std::ldexp(1, -40), Type::bf16), 0x3f81u);
  for (const Format &format : formats) {
    EXPECT_TRUE(std::isnan(value_of_bits(round_to_bits(std::nan(""), format.type), format.type)));
    EXPECT_EQ(type_roundoff(format.type), std::ldexp(1, -format.precision));
    EXPECT_EQ(type_smallest(format.type), std::ldexp(1, format.lowest_exponent - format.precision + 1));
  }
}

TEST(Elements, EveryHalfAndBfloatSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    for (const Type type : {Type::f16, Type::bf16}) {
      const double value = value_of_bits(bits, type);
      if (!std::isnan(value)) {
        ASSERT_EQ(round_to_bits(value, type), bits) << type_name(type);
      } else {
        ASSERT_TRUE(std::isnan(value_of_bits(round_to_bits(value, type), type)));
      }
    }
  }
}

std::vector<double> converted(const std::string &file, Type type, std::vector<std::string> &notes) {
  const std::vector<unsigned char> data = convert(read(file), type, "a.npy", notes);
  std::vector<double> values;
  for (size_t i = 0; i < data.size() / static_cast<size_t>(type_bytes(type)); ++i) {
    values.push_back(load_element(data.data(), static_cast<int64_t>(i), type));
  }
  return values;
}

TEST(Elements, ConvertTakesOrderAndEndiannessOut) {
  std::vector<std::string> notes;
  const std::string bytes = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(converted(npy_file(1, header_of("|i1", "False", "(2, 3)"), bytes), Type::f16, notes),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(converted(npy_file(1, header_of("|i1", "True", "(2, 3)"), bytes), Type::f16, notes),
              ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(converted(npy_file(1, header_of("<i2", "True", "(3, 1, 1)"), bytes), Type::f32, notes),
              ElementsAre(0x201, 0x403, 0x605));
  EXPECT_THAT(converted(npy_file(1, header_of(">u2", "False", "(3,)"), bytes), Type::f32, notes),
              ElementsAre(0x102, 0x304, 0x506));
  EXPECT_THAT(converted(npy_file(1, header_of(">f2", "False", "(2,)"), {0x3c, 0, '\xc0', 0}), Type::f16, notes),
              ElementsAre(1, -2));
  EXPECT_THAT(converted(npy_file(1, header_of("<V2", "False", "(2,)"), {'\x80', 0x3f, 0, '\xc0'}), Type::bf16, notes),
              ElementsAre(1, -2));
  EXPECT_THAT(converted(npy_file(1, header_of("|b1", "False", "(2,)"), {0, 1}), Type::bf16, notes), ElementsAre(0, 1));
  EXPECT_THAT(notes, IsEmpty());
}

std::string integer_bytes(uint64_t value) {
  std::string bytes(8, 0);
  std::memcpy(bytes.data(), &value, 8);
  return bytes;
}

TEST(Elements, ConvertRoundsLargeIntegersOnce) {
  std::vector<std::string> notes;
  const uint64_t above_tie = (uint64_t(1) << 60) + (uint64_t(1) << 36) + 1; // float64 would lose the 1
  const std::string data = integer_bytes(above_tie) + integer_bytes(~above_tie + 1) + integer_bytes(uint64_t(1) << 63) +
                           integer_bytes(uint64_t(1) << 60);
  const double up = std::ldexp(1, 60) + std::ldexp(1, 37);
  EXPECT_THAT(converted(npy_file(1, header_of("<i8", "False", "(4,)"), data), Type::f32, notes),
              ElementsAre(up, -up, -std::ldexp(1, 63), std::ldexp(1, 60)));
  EXPECT_THAT(notes, ElementsAre("a.npy: 2 of 4 int64 values were rounded to f32."));
  notes.clear();
  EXPECT_THAT(converted(npy_file(1, header_of("<u8", "False", "(2,)"), integer_bytes(~uint64_t(0)) + integer_bytes(3)),
                        Type::f16, notes),
              ElementsAre(HUGE_VAL, 3));
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("1 of 2 uint64 values"), HasSubstr("1 finite values are too large for f16")));
}

TEST(Elements, ConvertKeepsBitsOfItsOwnType) {
  std::vector<std::string> notes;
  const NpyArray array =
      read(npy_file(1, header_of(">f4", "True", "(1, 1)"), {0x7f, '\xa0', 0, 1})); // a signalling NaN
  EXPECT_THAT(convert(array, Type::f32, "a.npy", notes), ElementsAre(1, 0, 0xa0, 0x7f));
}

TEST(Elements, RawElementsNeedTheType) {
  std::vector<std::string> notes;
  const NpyArray raw = read(npy_file(1, header_of("<V2", "False", "(1,)"), "12"));
  for (const auto &attempt : {std::function<void()>([&] { convert(raw, Type::f32, "a.npy", notes); }),
                              std::function<void()>([&] { default_type(raw, "a.npy"); })}) {
    try {
      attempt();
      FAIL() << "accepted";
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.exit_code, EXIT_USAGE);
      EXPECT_THAT(failure.what(), HasSubstr("expected --type bf16"));
    }
  }
}

TEST(Elements, DefaultTypeKeepsHalfOnly) {
  EXPECT_EQ(default_type(read(npy_file(1, header_of("<f2", "False", "(1,)"), "12")), "a"), Type::f16);
  EXPECT_EQ(default_type(read(npy_file(1, header_of("<i2", "False", "(1,)"), "12")), "a"), Type::f32);
  EXPECT_EQ(default_type(read(npy_file(1, header_of("<f8", "False", "(1,)"), "12345678")), "a"), Type::f32);
}

TEST(Elements, BfloatOutputIsExactFloat) {
  std::string descr;
  EXPECT_THAT(to_npy_elements({0x80, 0x3f, 0x01, 0xc0}, Type::bf16, descr),
              ElementsAre(0, 0, 0x80, 0x3f, 0, 0, 1, 0xc0));
  EXPECT_EQ(descr, "<f4");
  EXPECT_THAT(to_npy_elements({1, 2}, Type::f16, descr), ElementsAre(1, 2));
  EXPECT_EQ(descr, "<f2");
}

} // namespace
