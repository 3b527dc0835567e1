/** linear_index: index expressions as sums of terms. */
#include "codegen/linear_index.h"

#include "support/child.h"
#include "support/ir.h"
#include "support/lower.h"
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

/** "3 + 2*i + -1*(j/4)" in the order of the keys. */
std::string show(const LinearIndex &index) {
  std::ostringstream out;
  out << index.constant;
  for (const auto &[key, term] : index.terms) {
    EXPECT_EQ(key, to_string(term.factor));
    EXPECT_NE(term.coefficient, 0) << key;
    out << " + " << term.coefficient << "*" << key;
  }
  return out.str();
}

std::string show(const Expr &e, const std::vector<std::pair<std::string, Expr>> &lets = {}) {
  return text_of([&] {
    Scope<Expr> scope;
    for (const auto &[name, value] : lets)
      scope.push(name, value);
    return show(linear_index(e, scope));
  });
}

TEST(LinearIndex, CollectsTermsOfAVariable) {
  const Expr i = var("i"), j = var("j");
  EXPECT_EQ(show(i * 3 + j - i + 7), "7 + 2*i + 1*j");
  EXPECT_EQ(show((i + 2) * 5 - 10), "0 + 5*i");
  EXPECT_EQ(show(4 * (i - j) - (i - 2 * j)), "0 + 3*i + -2*j");
}

TEST(LinearIndex, DropsTermsThatCancel) {
  const Expr i = var("i"), n = var("n");
  EXPECT_EQ(show((i + n) - (n + i)), "0");
  EXPECT_EQ(show((i * n + 3) - i * n), "3");
}

TEST(LinearIndex, KeepsWhatIsNotLinearAsOneFactor) {
  const Expr i = var("i"), j = var("j");
  EXPECT_EQ(show(2 * (i / 4) + i % 4), "0 + 1*(i % 4) + 2*(i/4)");
  EXPECT_EQ(show(i * j * 3 + 1), "1 + 3*(i*j)");
  EXPECT_EQ(show(min(i, j) - max(i, 0)), "0 + -1*max(i, 0) + 1*min(i, j)");
}

TEST(LinearIndex, ReadsShiftsByAConstantAsProducts) {
  const Expr i = var("i"), j = var("j");
  EXPECT_EQ(show((i << 3) + 1), "1 + 8*i");
  EXPECT_EQ(show(((i + 2) << 2)), "8 + 4*i");
  EXPECT_NE(show(i << j).find("shift_left"), std::string::npos);
}

TEST(LinearIndex, ReplacesLetsAlsoInsideFactors) {
  const Expr i = var("i"), t = var("t"), u = var("u");
  EXPECT_EQ(show(t * 2 + 1, {{"t", i + 3}}), "7 + 2*i");
  EXPECT_EQ(show(u, {{"t", i + 3}, {"u", t * 4}}), "12 + 4*i");
  EXPECT_EQ(show(t % 4, {{"t", i}}), show(i % 4));
  EXPECT_EQ(show(t - i % 4, {{"t", i % 4}}), "0");
}

TEST(LinearIndex, FoldsFactorsThatAreConstantAfterAll) {
  const Expr t = var("t");
  EXPECT_EQ(show(t % 4 + t / 4, {{"t", Expr(11)}}), "5");
}

TEST(LinearIndex, EmptyForZero) {
  EXPECT_EQ(show(Expr(0)), "0");
}

/** Evaluates an expression of integers and variables. */
int64_t value_of(Expr e, const std::map<std::string, Expr> &values) {
  const Expr constant = simplify(substitute(values, e));
  const auto value = as_const_int(constant);
  EXPECT_TRUE(value) << constant;
  return value.value_or(0);
}

Expr random_index(std::mt19937 &random, int depth) {
  auto below = [&](int n) { return int(random() % unsigned(n)); };
  if (depth == 0 || below(5) == 0)
    return below(3) ? var(std::string(1, char('a' + below(4)))) : Expr(below(21) - 10);
  const Expr a = random_index(random, depth - 1), b = random_index(random, depth - 1);
  switch (below(6)) {
  case 0:
    return a - b;
  case 1:
    return Mul::make(a, Expr(below(9) - 4));
  case 2:
    return Div::make(a, Expr(below(5) + 1));
  case 3:
    return Mod::make(a, Expr(below(5) + 1));
  case 4:
    return Min::make(a, b);
  default:
    return a + b;
  }
}

// The sum of the terms is the expression: over random expressions and values.
TEST(LinearIndex, SumOfTermsEqualsTheExpression) {
  const std::string faults = text_of([] {
    std::ostringstream out;
    std::mt19937 random(1);
    for (int round = 0; round < 300; round++) {
      const Expr e = random_index(random, 4);
      const LinearIndex index = linear_index(e, Scope<Expr>());
      for (int sample = 0; sample < 3; sample++) {
        std::map<std::string, Expr> values;
        for (const char *name : {"a", "b", "c", "d"})
          values[name] = Expr(int(random() % 41) - 20);
        int64_t sum = index.constant;
        for (const auto &[key, term] : index.terms)
          sum += term.coefficient * value_of(term.factor, values);
        if (sum != value_of(e, values))
          out << e << " gives " << value_of(e, values) << ", its terms " << sum << "\n";
      }
    }
    return out.str();
  });
  EXPECT_EQ(faults, "");
}

} // namespace
