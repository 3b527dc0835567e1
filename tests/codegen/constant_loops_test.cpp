/** constant_loops: loops of a bounded extent become loops of that bound, with a test in their bodies. */
#include "codegen/constant_loops.h"

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

Stmt store(const std::string &name, const Expr &index) {
  return hconv::store(name, 0.f, index);
}
Stmt loop(const std::string &name, const Expr &extent, const Stmt &body, const Expr &min = 0) {
  return hconv_test::loop(name, min, extent, body);
}
/** A Register array of a block of 32 threads, 4 elements each. */
Stmt registers(const Stmt &body) {
  return Allocate::make("acc", Float(32), MemoryType::Register, {128}, const_true(), body);
}
/** A shared array that `body` fills. */
Stmt staged(const Stmt &body) {
  return Allocate::make("tile", Float(32), MemoryType::GPUShared, {1024}, const_true(),
                        ProducerConsumer::make_produce("tile", body));
}

/** The IR after the pass, in a block of 32 x 4 threads. */
std::string after(const std::function<Stmt()> &body) {
  return text_of([&] {
    CudaKernel kernel;
    kernel.block[0] = 32;
    kernel.block[1] = 4;
    kernel.body = body();
    return to_string(constant_loops(kernel));
  });
}
void expect_unchanged(const std::function<Stmt()> &body) {
  EXPECT_EQ(after(body), text_of([&] { return to_string(body()); }));
}
void expect_refusal(const std::string &part, const std::function<Stmt()> &body) {
  const std::string error = refusal_of([&] {
    CudaKernel kernel;
    kernel.block[0] = 32;
    kernel.body = body();
    return to_string(constant_loops(kernel));
  });
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

const Expr lane = var("threadIdx.x");

// A guarded tail.
TEST(ConstantLoops, ThatIndexRegistersGetTheirBound) {
  expect_golden(
      after([] { return registers(loop("m", min(var("OC") - lane * 4, 4), store("acc", lane * 4 + var("m")))); }));
}

// The bound shows only with the let in place.
TEST(ConstantLoops, OfAStagedArrayGetTheirBound) {
  expect_golden(after([] {
    return staged(
        LetStmt::make("left", min(var("W") - lane, 32), loop("i", var("left"), store("tile", lane * 32 + var("i")))));
  }));
}

// The extent depends on the thread, whose range the launch states.
TEST(ConstantLoops, KnowTheThreadsRange) {
  expect_golden(after([] { return staged(loop("i", (lane + 3) / 2, store("tile", lane * 32 + var("i")))); }));
}

TEST(ConstantLoops, OthersStay) {
  const Expr bounded = min(var("n"), 8);
  expect_unchanged([&] { return loop("i", bounded, store("y", var("i"))); });
  expect_unchanged([&] { return staged(loop("i", 8, store("tile", var("i")))); });
  expect_unchanged([&] { return staged(loop("i", var("n"), store("tile", var("i")))); });
  // Too many copies to unroll, and one that threads wait in: not all of them would arrive.
  expect_unchanged([&] { return staged(loop("i", min(var("n"), 33), store("tile", var("i")))); });
  expect_unchanged([&] { return staged(loop("i", bounded, Block::make(store("tile", var("i")), barrier()))); });
}

TEST(ConstantLoops, RefuseWhatCannotBeUnrolled) {
  expect_refusal("Loop m indexes a register array and has the extent n, expected one with a constant bound",
                 [] { return registers(loop("m", var("n"), store("acc", lane * 4 + var("m")))); });
  expect_refusal("Loop m starts at 1, expected 0",
                 [] { return registers(loop("m", min(var("n"), 4), store("acc", lane * 4 + var("m")), 1)); });
}

} // namespace
