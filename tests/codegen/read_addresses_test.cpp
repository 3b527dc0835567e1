/** read_addresses: a thread's part of what a pipeline's consumers read is computed once. */
#include "codegen/read_addresses.h"

#include "support/child.h"
#include "support/golden.h"
#include "support/ir.h"
#include "support/lower.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

const Expr t = var("threadIdx.x"), k = var("s.k"), i = var("s.i");

std::string reads(const Expr &index, const Lets &around = {}, const Lets &inside = {}) {
  return text_of([&] {
    PipelineNest nest;
    const Stmt whole = loop("s.k", 0, var("K"), Evaluate::make(0));
    nest.loops = {whole.as<For>()};
    nest.staged = {"tile"};
    nest.compute = loop("s.i", 0, 4, with_lets(store("sum", load("tile", index) + load("other", index), 0), inside));
    const StagedReads result = read_addresses(nest, around);
    return (result.first.defined() ? to_string(result.first) : "") + "each step:\n" + to_string(result.compute);
  });
}

TEST(ReadAddresses, KeepsTheThreadsPart) {
  expect_golden(reads((t / 4 * 2 + i) * 5 + t % 4 + 3));
}

TEST(ReadAddresses, SeesThroughLets) {
  expect_golden(reads(var("row") * 8 + var("lane"), {{"lane", t % 4}, {"n", var("N") * 2}},
                      {{"row", i + var("lane") * 2 + var("n")}}));
}

// Places that are the same have one register.
TEST(ReadAddresses, SharesRegisters) {
  const std::string text = text_of([] {
    PipelineNest nest;
    const Stmt whole = loop("s.k", 0, var("K"), Evaluate::make(0));
    nest.loops = {whole.as<For>()};
    nest.staged = {"tile"};
    nest.compute = store("sum", load("tile", t * 4 + 1) + load("tile", t * 4 + 2) + load("tile", t + 2), 0);
    return std::to_string(read_addresses(nest, {}).kept);
  });
  EXPECT_EQ(text, "2");
}

TEST(ReadAddresses, LeavesWhatDoesNotFit) {
  for (const Expr &index : {i * 4, t * i, min(t, k), hconv::load(Int(32), "table", t)}) {
    const std::string text = reads(index);
    EXPECT_EQ(text.find("each step:"), 0u) << text;
    EXPECT_EQ(text.find("read_place"), std::string::npos) << text;
  }
}

} // namespace
