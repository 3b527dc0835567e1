/** vector_access: vector loads and stores become single wide accesses where their alignment is proved. */
#include "codegen/vector_access.h"

#include "codegen/private_registers.h"
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

/** A buffer that promises its device pointer to be a multiple of some bytes. */
Parameter aligned_buffer(int bytes) {
  Parameter p(Float(32), true, 1, "x");
  p.set_host_alignment(bytes);
  return p;
}

/** The name of the access that a load of 4 float32 at `base` becomes. */
std::string form(const Expr &index, const ModulusRemainder &alignment, int buffer_alignment) {
  return text_of([&] {
    const Parameter param = buffer_alignment ? aligned_buffer(buffer_alignment) : Parameter();
    const Expr value = Load::make(Float(32, 4), "x", index, Buffer<>(), param, const_true(4), alignment);
    std::ostringstream out;
    out << vector_access(Evaluate::make(value));
    std::string text = out.str(); // "(float32x4)hconv::..." without the types
    for (const std::string type : {"(float32x4)", "(void *)", "(float32)"}) {
      for (size_t at; (at = text.find(type)) != std::string::npos;)
        text.erase(at, type.size());
    }
    return text;
  });
}

const Expr dense = Ramp::make(Variable::make(Int(32), "i"), 1, 4);

TEST(VectorAccess, IsAlignedWhereBufferAndIndexAreProved) {
  const std::string aligned = "hconv::load_aligned(hconv::address_of(x[i]))\n",
                    guarded = "hconv::load_guarded(hconv::address_of(x[i]))\n";
  EXPECT_EQ(form(dense, {4, 0}, 16), aligned);
  EXPECT_EQ(form(dense, {8, 4}, 16), aligned);
  EXPECT_EQ(form(dense, {0, 12}, 16), aligned); // the constant 12
  EXPECT_EQ(form(dense, {4, 0}, 64), aligned);
  EXPECT_EQ(form(dense, {4, 2}, 16), guarded);
  EXPECT_EQ(form(dense, {2, 0}, 16), guarded);
  EXPECT_EQ(form(dense, {6, 0}, 16), guarded); // a multiple of 6 is one of 2
  EXPECT_EQ(form(dense, ModulusRemainder(), 16), guarded);
  EXPECT_EQ(form(dense, {4, 0}, 8), guarded);
  EXPECT_EQ(form(dense, {4, 0}, 0), guarded);
}

TEST(VectorAccess, OtherIndicesAreStridedOrGathered) {
  EXPECT_EQ(form(Ramp::make(var("i"), 3, 4), {4, 0}, 16), "hconv::load_strided(hconv::address_of(x[i]), 3)\n");
  EXPECT_EQ(form(Ramp::make(var("i"), -1, 4), {4, 0}, 16), "hconv::load_strided(hconv::address_of(x[i]), -1)\n");
  EXPECT_EQ(form(Ramp::make(var("i"), var("s"), 4), {4, 0}, 16), "hconv::load_strided(hconv::address_of(x[i]), s)\n");
  const std::string gather = form(dense * dense, {1, 0}, 16);
  EXPECT_EQ(gather.find("hconv::gather(hconv::address_of(x[0]), "), 0u) << gather;
}

TEST(VectorAccess, RefusesPredicates) {
  const std::string error = refusal_of([] {
    const Expr predicate = LT::make(dense, Broadcast::make(var("n"), 4));
    return to_string(vector_access(
        Evaluate::make(Load::make(Float(32, 4), "x", dense, Buffer<>(), Parameter(), predicate, ModulusRemainder()))));
  });
  EXPECT_NE(error.find("Access of x under the predicate"), std::string::npos) << error;
  EXPECT_NE(error.find("TailStrategy"), std::string::npos) << error;
}

TEST(VectorAccess, RefusesNestedRamps) {
  const std::string error = refusal_of([] {
    const Expr nested = Ramp::make(Ramp::make(var("i"), 1, 2), Broadcast::make(8, 2), 2);
    return to_string(vector_access(Evaluate::make(
        Load::make(Float(32, 4), "x", nested, Buffer<>(), Parameter(), const_true(4), ModulusRemainder()))));
  });
  EXPECT_NE(error.find("ramp of vectors"), std::string::npos) << error;
}

// Shared memory starts at a multiple of 128 bytes, a thread's registers are read one by one.
TEST(VectorAccess, KnowsSharedAndRegisterMemory) {
  expect_golden(text_of([] {
    auto copy = [](const std::string &from, const std::string &to, const ModulusRemainder &alignment) {
      const Expr value = Load::make(Float(32, 4), from, dense, Buffer<>(), Parameter(), const_true(4), alignment);
      return Store::make(to, value, dense, Parameter(), const_true(4), alignment);
    };
    const Stmt body = Block::make({copy("x", "tile", {4, 0}), copy("tile", "acc", {4, 0}), copy("acc", "tile", {4, 1}),
                                   copy("acc", "y", {4, 0})});
    return to_string(
        vector_access(Allocate::make("tile", Float(32), MemoryType::GPUShared, {64}, const_true(),
                                     Allocate::make("acc", Float(32), MemoryType::Register, {4}, const_true(), body))));
  }));
}

std::string kernel_after(const Func &func) {
  CudaKernel kernel = kernel_of(func);
  return to_string(vector_access(private_registers(kernel.body)));
}

TEST(VectorAccess, AlignedPipeline) {
  expect_golden(text_of([] { return kernel_after(scaled_vectors(true)); }));
}

TEST(VectorAccess, GuardedPipeline) {
  expect_golden(text_of([] { return kernel_after(scaled_vectors(false)); }));
}

// 4 bfloat16 are 8 bytes: an alignment of 8 would do, and 16 does.
TEST(VectorAccess, NarrowElements) {
  expect_golden(text_of([] { return kernel_after(scaled_vectors(true, BFloat(16))); }));
}

} // namespace
