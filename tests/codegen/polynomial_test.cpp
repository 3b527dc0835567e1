/** polynomial: index expressions as sums of products. */
#include "codegen/polynomial.h"

#include "support/child.h"
#include "support/evaluate.h"
#include "support/ir.h"
#include "support/lower.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

std::string show(const Expr &e) {
  return text_of([&] { return polynomial(e).text(); });
}

const Expr i = var("i"), j = var("j"), n = var("n");

TEST(Polynomial, MultipliesSumsBySums) {
  EXPECT_EQ(show((i + 2) * (n - 1)), "+-2+-1(i)^1+1(i)^1(n)^1+2(n)^1");
  EXPECT_EQ(show((i + n) * (i + n)), show(i * i + 2 * i * n + n * n));
  EXPECT_EQ(show((i << 3) * n), show(i * n * 8));
}

TEST(Polynomial, DropsWhatCancels) {
  EXPECT_EQ(show((i + n) * j - n * j - j * i), "");
  EXPECT_EQ(show((i + n) * j - n * j - j * i + 5), "+5");
}

// What is staged densely lies where it is counted, in however many dimensions.
TEST(Polynomial, JoinsQuotientAndRemainder) {
  EXPECT_EQ(show(i / 20 * 20 + i % 20), "+1(i)^1");
  EXPECT_EQ(show((i / 9 * 9 + i % 9 / 3 * 3 + i % 9 % 3) * n), "+1(i)^1(n)^1");
  EXPECT_EQ(show((i + 256) / 144 * 144 + (i + 112) % 144), "+256+1(i)^1");
}

TEST(Polynomial, KeepsQuotientsThatDoNotJoin) {
  EXPECT_EQ(show(i / 20 * 24 + i % 20), "+1((i % 20))^1+24((i/20))^1");
  EXPECT_NE(show(i / 20 * 20 + j % 20).find("(j % 20)"), std::string::npos);
  EXPECT_NE(show((i + 5) / 20 * 20 + i % 20).find("(i % 20)"), std::string::npos);
}

TEST(Polynomial, FactorsAreWhatIsNeitherSumNorProduct) {
  EXPECT_EQ(show(min(i, n) * 2), "+2(min(i, n))^1");
  EXPECT_EQ(show((i / 4) * (i / 4)), "+1((i/4))^2");
}

// 2^31 * 2 is 0 modulo 2^32, and so is what is left of it.
TEST(Polynomial, WrapsAround) {
  const auto value = [](const Expr &e, const std::map<std::string, Expr> &values) {
    return text_of([&] { return to_string(simplify(substitute(values, polynomial(e).wrapped()))); });
  };
  EXPECT_EQ(value(i * n - j * n + 3, {{"i", 65536}, {"n", 65536}, {"j", 65536}}), "(uint32)3");
  EXPECT_EQ(value(i - j, {{"i", 1}, {"j", 2}}), "(uint32)4294967295");
}

} // namespace
