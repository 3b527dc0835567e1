/** cuda_printer: whole kernels as CUDA C++. The golden texts are also compiled: see compile_test.cpp. */
#include "codegen/cuda_printer.h"

#include "codegen/kernel_launch.h"
#include "support/child.h"
#include "support/golden.h"
#include "support/ir.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

/** The CUDA text of a body that uses the float32 buffers x and y and the integer n. */
std::string printed(const Stmt &body, const std::string &name, bool addresses_first = false) {
  CudaKernel kernel;
  kernel.addresses_first = addresses_first;
  kernel.name = name;
  kernel.block[0] = 32;
  kernel.arguments = {{"x", Float(32), true, false}, {"n", Int(32)}, {"y", Float(32), true, true}};
  kernel.body = body;
  layout_shared_memory(kernel);
  return print_cuda(kernel);
}

TEST(CudaPrinter, Scaled) {
  expect_golden(text_of([] { return cuda_of(scaled()); }), "cu");
}
TEST(CudaPrinter, ScaledVectors) {
  expect_golden(text_of([] { return cuda_of(scaled_vectors(true)); }), "cu");
}
TEST(CudaPrinter, GuardedVectors) {
  expect_golden(text_of([] { return cuda_of(scaled_vectors(false)); }), "cu");
}
TEST(CudaPrinter, Bfloat16Vectors) {
  expect_golden(text_of([] { return cuda_of(scaled_vectors(true, BFloat(16))); }), "cu");
}
TEST(CudaPrinter, Matmul) {
  expect_golden(text_of([] { return cuda_of(matmul()); }), "cu");
}
TEST(CudaPrinter, MatmulOfFloat16) {
  expect_golden(text_of([] { return cuda_of(matmul(Float(16))); }), "cu");
}

// Register loops are unrolled, loops with a barrier never, other loops are the compiler's choice.
TEST(CudaPrinter, UnrollPragmas) {
  expect_golden(
      text_of([] {
        const Expr m = var("m"), i = var("i");
        const Stmt body = Block::make(
            {loop("m", 0, 4, store("acc", 0.f, m)),
             loop("k", 0, var("n"),
                  Block::make({loop("i", 0, 8, store("tile", load("x", i), i)), barrier(),
                               loop("m", 0, 4, store("acc", load("acc", m) + load("tile", m), m)), barrier()})),
             loop("m", 0, 4, store("y", load("acc", m), m))});
        return printed(Allocate::make("tile", Float(32), MemoryType::GPUShared, {8}, const_true(),
                                      Allocate::make("acc", Float(32), MemoryType::Register, {4}, const_true(), body)),
                       "unroll_pragmas");
      }),
      "cu");
}

// One name bound side by side, inside itself, and read after an inner one.
TEST(CudaPrinter, ShadowedNames) {
  expect_golden(
      text_of([] {
        const Expr t = var("t");
        auto let = [](const Expr &value, const Stmt &body) { return LetStmt::make("t", value, body); };
        auto array = [](int elements, float value) {
          return Allocate::make("a", Float(32), MemoryType::Register, {elements}, const_true(),
                                Block::make(store("a", value, 0), store("y", load("a", 0), elements)));
        };
        return printed(
            Block::make(
                {let(1, store("y", 1.f, t)), let(2, store("y", 2.f, t)),
                 let(3, Block::make({let(t + 1, store("y", 4.f, t)), store("y", 3.f, t),
                                     loop("i", 0, 2, Block::make(let(5, store("y", 5.f, t)), store("y", 3.5f, t))),
                                     store("y", 3.25f, t)})),
                 array(6, 6.f), array(7, 7.f)}),
            "shadowed_names");
      }),
      "cu");
}

// The address of a guarded load outside of any branch; other selects stay.
TEST(CudaPrinter, AddressesFirst) {
  expect_golden(text_of([] {
                  const Expr i = var("i"), guarded = select(i < var("n"), load("x", i * 3), 0.f);
                  return printed(loop("i", 0, 8, store("y", select(i > 2, guarded, 1.f), i)), "addresses_first", true);
                }),
                "cu");
}

TEST(CudaPrinter, NamesThatCxxReserves) {
  expect_golden(text_of([] {
                  return printed(
                      loop("y.s0.new", 0, var("n"),
                           LetStmt::make("int", var("y.s0.new") * 2,
                                         LetStmt::make("1st value", var("int") + 1,
                                                       store("y", load("x", var("int")), var("1st value"))))),
                      "reserved_names");
                }),
                "cu");
}

TEST(CudaPrinter, RefusesALoopInsideItsOwnBound) {
  const std::string error =
      refusal_of([] { return printed(loop("i", 0, var("i") + 1, store("y", 1.f, 0)), "own_bound"); });
  EXPECT_NE(error.find("Loop i has a bound with a variable of its own name"), std::string::npos) << error;
}

} // namespace
