// The memory that generated code asks halide_malloc for.
#include <gtest/gtest.h>

#include <cstring>

#include "HalideRuntime.h"
#include "runtime/run_context.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;

TEST(Scratch, IsAStackThatBearsAnyOrder) {
  Bytes memory(4096 + scratch_alignment);
  auto *start = static_cast<char *>(memory.data());
  start += scratch_alignment - reinterpret_cast<uintptr_t>(start) % scratch_alignment;
  ScratchStack stack(start, 2048);
  void *a = stack.take(100), *b = stack.take(1), *c = stack.take(512);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(stack.take(1024), nullptr) << "there is no room";
  EXPECT_FALSE(stack.give_back(start + 3000)) << "not its own";
  EXPECT_TRUE(stack.give_back(a));
  EXPECT_TRUE(stack.give_back(c));
  EXPECT_EQ(stack.take(512), c);
  EXPECT_TRUE(stack.give_back(c));
  EXPECT_TRUE(stack.give_back(b));
  EXPECT_EQ(stack.take(2048 - scratch_alignment), a) << "everything is free";
  EXPECT_EQ(ScratchStack().take(1), nullptr);
}

TEST(Scratch, ComesFromMallocWithoutAWorkspace) {
  RunContext run;
  const int64_t allocated = scratch_from_malloc();
  for (void *context : {static_cast<void *>(&run), static_cast<void *>(nullptr)}) {
    void *memory = halide_malloc(context, 1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, 1000);
    halide_free(context, memory);
    halide_free(context, nullptr);
  }
  EXPECT_EQ(scratch_from_malloc(), allocated + 2);
  EXPECT_EQ(halide_malloc(&run, SIZE_MAX), nullptr);
}

} // namespace
