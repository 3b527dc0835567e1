/** prove_assertions: assertions inside a kernel are proved and removed, or refused. */
#include "codegen/prove_assertions.h"

#include "support/child.h"
#include "support/ir.h"
#include "support/lower.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

/** let t = min(n, 8); assert condition; y[0] = 1 */
std::string proved(const Expr &condition) {
  const Stmt one = store("y", 1.f, 0);
  const Stmt body = Block::make(AssertStmt::make(condition, Expr(0)), one);
  return to_string(prove_assertions(LetStmt::make("t", min(var("n"), 8), body)));
}

TEST(ProveAssertions, RemovesWhatHoldsAlways) {
  EXPECT_EQ(text_of([] { return proved(var("t") <= 8); }), "y[0] = 1.000000f\n");
  EXPECT_EQ(text_of([] { return proved(var("t") <= var("n")); }), "y[0] = 1.000000f\n");
}

TEST(ProveAssertions, RefusesWhatMayFail) {
  const std::string error = refusal_of([] { return proved(var("t") <= 7); });
  EXPECT_NE(error.find("Assertion (t <= 7) inside a CUDA kernel cannot be proved; in full it is (min(n, 8) <= 7)"),
            std::string::npos)
      << error;
}

} // namespace
