/** cuda_printer: printed expressions, compiled as C++, give what Halide gives. */
#include "support/evaluate.h"
#include "support/random_expression.h"

#include "codegen/cuda_types.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv_test;

namespace {

template <typename T> uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <typename T> Column column(const std::string &name, const std::vector<T> &values) {
  Column c{name, type_of<T>(), {}};
  for (const T &v : values)
    c.values.push_back(bits_of(v));
  return c;
}

Expr var(const Column &c) {
  return Variable::make(c.type, c.name);
}

/** Prints, compiles and runs the expressions over the columns and compares with Halide's own results. */
void expect_as_halide(const std::vector<Expr> &expressions, const std::vector<Column> &columns) {
  const int rows = int(columns[0].values.size());
  const Results printed = evaluate_printed(expressions, columns, rows);
  EXPECT_EQ(differences(expressions, columns, printed, evaluate_halide(expressions, columns, rows)), "");
}

/** All pairs of the values, as two columns. */
template <typename T> std::vector<Column> pairs(const std::vector<T> &values) {
  std::vector<T> a, b;
  for (const T &x : values) {
    for (const T &y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  return {column("a", a), column("b", b)};
}

// Every sign of numerator and divisor, also 0, where Halide's division gives 0.
TEST(ExpressionSemantics, DivisionAndModuloRoundDown) {
  const auto columns = pairs<int32_t>({-100001, -17, -8, -7, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7, 8, 17, 99999});
  const Expr a = var(columns[0]), b = var(columns[1]);
  std::vector<Expr> all = {a / b, a % b, (a / b) * b + a % b, a / b / 3 % 5, a / (b % 7 + 8)};
  for (const int divisor : {1, 2, 3, 5, 7, 8, 64, 1000, -1, -2, -3, -8}) {
    all.push_back(Div::make(a, Expr(divisor)));
    all.push_back(Mod::make(a, Expr(divisor)));
  }
  expect_as_halide(all, columns);
}

/** All pairs of small and extreme values of a type, as columns "<type>_a" and "<type>_b" of the same length for all. */
template <typename T> std::vector<Column> extremes(const std::string &type) {
  const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const T third = T(most / 3);
  std::vector<T> values = {0, 1, 2, 3, 7, third, T(most - 1), most};
  if (std::is_signed_v<T>)
    values.insert(values.end(), {T(-1), T(-2), T(-7), T(-third), T(least + 1), least});
  values.resize(14, T(5));
  std::vector<Column> columns = pairs<T>(values);
  columns[0].name = type + "_a";
  columns[1].name = type + "_b";
  return columns;
}

void add_all_operators(std::vector<Expr> &all, const Expr &a, const Expr &b) {
  const Type t = a.type();
  const Expr small = cast(t, 3), bit = b & make_const(t, t.bits() - 1);
  const std::vector<Expr> defined = {min(a, b),
                                     max(a, b),
                                     a == b,
                                     a != b,
                                     a<b, a <= b, a>
                                         b,
                                     a >= b,
                                     a & b,
                                     a | b,
                                     a ^ b,
                                     ~a,
                                     ~a & b,
                                     a / small,
                                     a % small,
                                     a >> 1,
                                     a >> bit,
                                     min(a, small),
                                     max(a & b, a ^ b),
                                     select(a < b, a, b),
                                     (a & small) == 1,
                                     (a | b) < small};
  all.insert(all.end(), defined.begin(), defined.end());
  if (t.bits() >= 32 && t.is_int())
    return; // a signed overflow of 32 or 64 bits is undefined in Halide, narrower ones wrap
  const std::vector<Expr> wrapping = {a + b,
                                      a - b,
                                      a * b,
                                      (a + b) / small,
                                      (a + b) < a,
                                      min(a + b, small),
                                      (a * b) >> 1,
                                      max(a - b, b),
                                      a << bit,
                                      cast<float>(a + b),
                                      cast<int64_t>(a * b),
                                      a / b,
                                      a % b,
                                      select(a + b < small, a - b, b * b)};
  all.insert(all.end(), wrapping.begin(), wrapping.end());
}

// C++ would compute the narrow ones in int: they must wrap as in Halide.
TEST(ExpressionSemantics, OperatorsOfEveryIntegerType) {
  std::vector<Column> columns;
  for (const auto &both :
       {extremes<int8_t>("i8"), extremes<uint8_t>("u8"), extremes<int16_t>("i16"), extremes<uint16_t>("u16"),
        extremes<int32_t>("i32"), extremes<uint32_t>("u32"), extremes<int64_t>("i64"), extremes<uint64_t>("u64")})
    columns.insert(columns.end(), both.begin(), both.end());
  std::vector<Expr> all;
  for (size_t i = 0; i < columns.size(); i += 2)
    add_all_operators(all, var(columns[i]), var(columns[i + 1]));
  expect_as_halide(all, columns);
}

// A signed shift count of unknown sign shifts the other way when it is negative.
TEST(ExpressionSemantics, ShiftsByACountOfAnySign) {
  const auto columns = pairs<int32_t>({-13, -5, -1, 0, 1, 2, 6, 12});
  const Expr a = var(columns[0]), b = var(columns[1]);
  const Expr u = cast<uint32_t>(a & 255), n = cast<int8_t>(a);
  expect_as_halide({a << b, a >> b, u << b, u >> b, (a << b) + 1, a << (b & 3), a >> -1, n >> b}, columns);
}

TEST(ExpressionSemantics, LogicAndComparisonsKeepTheirPrecedence) {
  const auto columns = pairs<int32_t>({-2, -1, 0, 1, 2, 3});
  const Expr a = var(columns[0]), b = var(columns[1]);
  const Expr p = a<b, q = a> 0, r = b != 1;
  expect_as_halide({(p && q) || r,
                    p && (q || r),
                    (p || q) && r,
                    p || (q && r),
                    !(p && q) || r,
                    !p && !q,
                    (p == q),
                    (p != q) == r,
                    (a & 3) == (b | 1),
                    (a & select(b == 1, 1, 0)),
                    ((a ^ b) & 2) != 0,
                    (a + b * 2) << (b & 3),
                    a - (b - (a - b)),
                    a - b - a,
                    a * (b + a) - (a - 3) * b,
                    -a * -b,
                    (a << 1) + 1,
                    a << cast<int>(1 + (b & 1)),
                    select(p, select(q, 1, 2), select(r, 3, 4)),
                    select(select(p, q, r), a, b),
                    select(p && q, a + 1, b - 1) * 2},
                   columns);
}

TEST(ExpressionSemantics, LetsBindTheInnermostName) {
  const auto columns = pairs<int32_t>({-5, -1, 0, 4, 7});
  const Expr a = var(columns[0]), b = var(columns[1]), t = Variable::make(Int(32), "t"),
             u = Variable::make(Int(32), "u");
  expect_as_halide(
      {
          Let::make("t", a + b, t * t - t), Let::make("t", a + 1, Let::make("u", t - b, t * u)),
          Let::make("t", a, Let::make("t", t + 1, t * 2)),                 // t + 1 means the outer t
          Let::make("t", a + b, Let::make("a", Expr(100), t + a)),         // t's a is the outer one
          Let::make("t", a, t) + Let::make("t", b, t * 3),                 // side by side
          Let::make("t", a < b, select(Variable::make(Bool(), "t"), a, b)) //
      },
      columns);
}

TEST(ExpressionSemantics, FloatArithmeticIsExact) {
  const auto columns = pairs<float>({-3.5f, -1.f, -0.f, 0.f, 1e-40f, 0.1f, 1.f, 7.25f, 1e30f});
  const Expr a = var(columns[0]), b = var(columns[1]);
  expect_as_halide({a + b, a - b, a * b, a / b, a - (b - a), a / b / 2.f, a / (b * 2.f), a < b, a <= b, a == b, a != b,
                    -a, select(a < b, a, b) * 2.f - 1.f, cast<double>(a) * cast<double>(b), a * -2.5f - -1.f},
                   columns);
}

TEST(ExpressionSemantics, MinimumAndMaximumOfFloats) {
  const auto columns = pairs<float>({-3.5f, -1.f, 0.f, 1e-40f, 0.1f, 1.f, 1e30f, INFINITY, -INFINITY});
  const Expr a = var(columns[0]), b = var(columns[1]);
  expect_as_halide({min(a, b), max(a, b), max(min(a, 1.f), -1.f), min(a + 1.f, a)}, columns);
}

TEST(ExpressionSemantics, IntegerCastsWrapAndExtend) {
  const auto columns = pairs<int64_t>(
      {0, 1, -1, 127, 128, 255, 256, -129, 32768, 65535, -32769, 2147483647, -2147483648ll, 4294967295ll, 1ll << 40});
  const Expr a = var(columns[0]), b = var(columns[1]);
  std::vector<Expr> all;
  const std::vector<Type> types = {Int(8), UInt(8), Int(16), UInt(16), Int(32), UInt(32), Int(64), UInt(64)};
  for (const Type from : types) {
    for (const Type to : types)
      all.push_back(cast(to, cast(from, a)));
    all.push_back(cast<float>(cast(from, a)));
    all.push_back(cast(from, a) == cast(from, b));
  }
  all.push_back(cast<int>(a < b) + 1);
  all.push_back(cast<float>(a < b));
  expect_as_halide(all, columns);
}

TEST(ExpressionSemantics, FloatsBecomeIntegersByTruncation) {
  const auto columns = pairs<float>({-100.75f, -1.5f, -0.5f, -0.f, 0.49f, 0.5f, 1.5f, 99.99f, 100.f});
  const Expr a = var(columns[0]), b = var(columns[1]);
  expect_as_halide({cast<int>(a), cast<int8_t>(a), cast<int16_t>(b), cast<int64_t>(a), cast<uint8_t>(max(a, 0.f)),
                    cast<uint32_t>(max(a, 0.f)), cast<int>(a) / 3},
                   columns);
}

std::vector<float> rounding_cases() {
  std::vector<float> values = {0.f,   -0.f,    1.f,   -2.5f, 65504.f, 65519.f, 65520.f,  -65520.f,
                               1e30f, 3.4e38f, 1e-5f, 6e-8f, 3e-8f,   1e-40f,  INFINITY, -INFINITY};
  // Ties and their neighbours at the last kept bit of bfloat16 and of float16.
  for (const uint32_t base : {0x3f800000u, 0x40490000u, 0xc2c80000u, 0x38800000u}) {
    for (const uint32_t rest : {0x0fffu, 0x1000u, 0x1001u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0x18000u}) {
      const uint32_t bits = base + rest;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      values.push_back(value);
    }
  }
  return values;
}

// The 16-bit floats are stored, and converted to and from every type that has a conversion.
TEST(ExpressionSemantics, SixteenBitFloatsRoundToNearestEven) {
  const std::vector<float> values = rounding_cases();
  std::vector<int32_t> integers;
  std::vector<float16_t> halves;
  std::vector<bfloat16_t> brains;
  for (size_t i = 0; i < values.size(); i++) {
    integers.push_back(int32_t(i * 97) - 1500);
    halves.emplace_back(values[i]);
    brains.emplace_back(values[i]);
  }
  const std::vector<Column> columns = {column("f", values), column("i", integers), column("h", halves),
                                       column("b", brains)};
  const Expr f = var(columns[0]), i = var(columns[1]), h = var(columns[2]), b = var(columns[3]);
  std::vector<Expr> all;
  for (const Type to : {Type(BFloat(16)), Type(Float(16))}) {
    for (const Expr &from : {f, i, cast<float>(h), cast<float>(b), cast<uint8_t>(i), cast<int16_t>(i), h, b})
      all.push_back(cast(to, from));
    all.push_back(select(i < 0, cast(to, f), cast(to, 1.5f)));
    all.push_back(select(i < 0, cast(to, f), make_zero(to)));
  }
  all.push_back(cast<float>(h) * 2.f + cast<float>(b));
  all.push_back(cast<double>(cast<float>(h)));
  // NaN and infinity have no integers: clamped first.
  const Expr clamped = cast<bfloat16_t>(clamp(f, -1000.f, 1000.f));
  all.push_back(cast<int>(clamped));
  all.push_back(cast<int16_t>(cast<float16_t>(clamp(f, -1000.f, 1000.f))));
  expect_as_halide(all, columns);
}

// Constants read back with the bits that they had, whatever they are.
TEST(ExpressionSemantics, FloatConstantsRoundTrip) {
  std::vector<uint32_t> patterns = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                    0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0x3f800001, 0xbdcccccd, 0x4b000001};
  std::mt19937 random(7);
  for (int i = 0; i < 200; i++)
    patterns.push_back(uint32_t(random()) & 0xbfffffff); // finite
  std::vector<Expr> constants;
  for (const uint32_t bits : patterns) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    constants.push_back(FloatImm::make(Float(32), value));
  }
  const std::vector<Column> columns = {column<int32_t>("unused", {0})};
  const Results results = evaluate_printed(constants, columns, 1);
  for (size_t i = 0; i < results.size(); i++)
    EXPECT_EQ(results[i][0], patterns[i]) << constants[i] << " from bits " << std::hex << patterns[i];
}

TEST(ExpressionSemantics, DoubleAndSixteenBitConstantsRoundTrip) {
  std::vector<Expr> constants;
  std::vector<uint64_t> expected;
  for (const double value :
       {0.0, -0.0, 1.0, 0.1, -1e300, 5e-324, 123456789012345678.0, double(INFINITY), -double(INFINITY)}) {
    constants.push_back(FloatImm::make(Float(64), value));
    expected.push_back(bits_of(value));
  }
  for (const float value : {0.f, -0.f, 1.f, -1.5f, 0.333251953125f, 65504.f, 6e-8f, INFINITY, -INFINITY}) {
    constants.push_back(FloatImm::make(Float(16), double(float(float16_t(value)))));
    expected.push_back(float16_t(value).to_bits());
    constants.push_back(FloatImm::make(BFloat(16), double(float(bfloat16_t(value)))));
    expected.push_back(bfloat16_t(value).to_bits());
  }
  const Results results = evaluate_printed(constants, {column<int32_t>("unused", {0})}, 1);
  for (size_t i = 0; i < results.size(); i++)
    EXPECT_EQ(results[i][0], expected[i]) << constants[i] << " of type " << constants[i].type();
}

TEST(ExpressionSemantics, IntegerConstantsKeepValueAndType) {
  std::vector<Expr> constants;
  std::vector<uint64_t> expected;
  for (const int bits : {8, 16, 32, 64}) {
    for (const int64_t value :
         {int64_t(0), int64_t(1), int64_t(-1), INT64_MAX >> (64 - bits), INT64_MIN >> (64 - bits)}) {
      constants.push_back(IntImm::make(Int(bits), value));
      expected.push_back(uint64_t(value) & (UINT64_MAX >> (64 - bits)));
      constants.push_back(UIntImm::make(UInt(bits), expected.back()));
      expected.push_back(expected.back());
    }
  }
  const Results results = evaluate_printed(constants, {column<int32_t>("unused", {0})}, 1);
  for (size_t i = 0; i < results.size(); i++)
    EXPECT_EQ(results[i][0], expected[i]) << constants[i] << " of type " << constants[i].type();
}

// Random expressions of every type, as they are and as the back end receives them, with fixed seeds.
TEST(ExpressionSemantics, RandomExpressions) {
  RandomExpression random(20260101);
  const int rows = 24;
  const std::vector<Column> columns = random.columns(rows);
  std::vector<Expr> expressions;
  for (int round = 0; round < 12; round++) {
    for (const Type type : RandomExpression::types())
      expressions.push_back(random.make(type, 4));
  }
  const Results once = evaluate_halide(expressions, columns, rows);
  Results halide = once; // for both printed forms
  halide.insert(halide.end(), once.begin(), once.end());
  std::vector<Expr> printed = expressions;
  for (const Expr &e : expressions)
    printed.push_back(lower_intrinsics(find_intrinsics(simplify(e))));
  EXPECT_EQ(differences(printed, columns, evaluate_printed(printed, columns, rows), halide), "");
}

// The same with vectors of four: printed on vectors, compared lane by lane with the scalars.
TEST(ExpressionSemantics, RandomVectorExpressions) {
  RandomExpression random(4242);
  const int rows = 24, lanes = 4;
  const std::vector<Column> columns = random.columns(rows);
  std::vector<Expr> scalars, vectors;
  for (int round = 0; round < 8; round++) {
    for (const Type type : RandomExpression::types()) {
      scalars.push_back(random.make_for_vectors(type, 3));
      vectors.push_back(widened(scalars.back(), lanes));
    }
  }
  const Results halide = evaluate_halide(scalars, columns, rows);
  EXPECT_EQ(differences(scalars, columns, evaluate_printed(vectors, columns, rows, lanes), halide), "");
}

TEST(ExpressionSemantics, RampsAndBroadcasts) {
  const std::vector<Column> columns = {column<int32_t>("a", {-7, -7, -7, -7, 3, 3, 3, 3}),
                                       column<int32_t>("b", {2, 2, 2, 2, -5, -5, -5, -5})};
  // Variables of four equal lanes: lane 0 of a and b as scalars is what a ramp starts from.
  const Expr a = Variable::make(Int(32, 4), "a"), b = Variable::make(Int(32, 4), "b");
  const Expr zero_to_three = Ramp::make(Expr(0), Expr(1), 4), threes = Broadcast::make(Expr(3), 4);
  const std::vector<Expr> printed = {a + zero_to_three * b, Ramp::make(Expr(10), Expr(-2), 4) - a,
                                     threes * a + Broadcast::make(Expr(1), 4)};
  const Results results = evaluate_printed(printed, columns, 8, 4);
  for (int row = 0; row < 8; row++) {
    const int lane = row % 4, x = row < 4 ? -7 : 3, y = row < 4 ? 2 : -5;
    EXPECT_EQ(int32_t(results[0][size_t(row)]), x + lane * y);
    EXPECT_EQ(int32_t(results[1][size_t(row)]), 10 - 2 * lane - x);
    EXPECT_EQ(int32_t(results[2][size_t(row)]), 3 * x + 1);
  }
}

} // namespace
