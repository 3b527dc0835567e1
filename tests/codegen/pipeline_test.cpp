/** pipeline: loops that stage and compute become software pipelines. */
#include "codegen/pipeline.h"

#include "codegen/cuda_printer.h"
#include "codegen/kernel_launch.h"
#include "support/child.h"
#include "support/golden.h"
#include "support/host_threads.h"
#include "support/ir.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include "support/process.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

Stmt loop(const std::string &name, const Expr &extent, const Stmt &body) {
  return hconv_test::loop(name, 0, extent, body);
}
Stmt produce(const std::string &array, const Stmt &body) {
  return ProducerConsumer::make(array, true, body);
}

const Expr lane = var("threadIdx.x"), k = var("sum.s1.k"), c = var("sum.s1.c");
const Stmt stage = produce("tile", store("tile", load("x", k * 32 + lane), lane));
const Stmt compute = store("y", load("tile", lane) + load("y", lane), lane);

/** The IR of tile[32] and a body in which loop k is to have 3 stages. */
std::string piped(const Stmt &body, int stages = 3, const std::string &name = "k") {
  const Stmt whole = Allocate::make("tile", Float(32), MemoryType::GPUShared, {32}, const_true(), body);
  return to_string(pipeline(whole, {name, stages}));
}

void expect_refusal(const std::string &part, const std::function<Stmt()> &body) {
  const std::string error = refusal_of([&] { return piped(body()); });
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Pipeline, Matmul) {
  expect_golden(text_of([] { return cuda_of(matmul(), {"chunk", 3}); }), "cu");
}

// 16-bit elements have no asynchronous copy of their size: plain ones, into the later stage.
TEST(Pipeline, MatmulOfFloat16) {
  expect_golden(text_of([] { return cuda_of(matmul(Float(16)), {"chunk", 2}); }), "cu");
}

TEST(Pipeline, OneLoop) {
  expect_golden(text_of([] {
    return piped(loop("sum.s1.k", var("K"), Block::make({stage, barrier(), compute, barrier()})));
  }));
}

// The outer loop holds nothing else: one pipeline over both.
TEST(Pipeline, TakesInTheLoopsAround) {
  expect_golden(text_of([] {
    const Stmt far = produce("tile", store("tile", load("x", c * 64 + k * 32 + lane), lane));
    return piped(loop("sum.s1.c", var("C"), loop("sum.s1.k", 2, Block::make({far, barrier(), compute, barrier()}))));
  }));
}

// Every copy of an array starts where a 16-byte access may, whatever the array's size.
TEST(Pipeline, CopiesKeepTheArraysAlignment) {
  auto text = [](Type type) {
    return text_of([=] {
      const Stmt body = loop("sum.s1.k", var("K"), Block::make({stage, barrier(), compute}));
      return to_string(
          pipeline(Allocate::make("tile", type, MemoryType::GPUShared, {33}, const_true(), body), {"k", 3}));
    });
  };
  EXPECT_NE(text(Float(32)).find("allocate tile[float32 * 108]"), std::string::npos) << text(Float(32));
  EXPECT_NE(text(Float(32)).find("address_of(tile[now[1]*36])"), std::string::npos) << text(Float(32));
  EXPECT_NE(text(BFloat(16)).find("allocate tile[bfloat16 * 120]"), std::string::npos) << text(BFloat(16));
}

// Zero outside the image: the copy takes no bytes there.
TEST(Pipeline, GuardedCopiesAreZeroFilled) {
  const std::string text = text_of([] {
    const Expr inside = lane < var("W");
    return piped(loop(
        "sum.s1.k", 4,
        Block::make({produce("tile", store("tile", select(inside, load("x", lane), 0.f), lane)), barrier(), compute})));
  });
  EXPECT_NE(text.find("hconv::cp_async4("), std::string::npos) << text;
  EXPECT_NE(text.find("select(threadIdx.x < W, (uint32)1, (uint32)0)"), std::string::npos) << text;
  EXPECT_NE(text.find("select((copy_mask[0] % (uint32)2) == (uint32)0, 0, 4)"), std::string::npos) << text;
}

// Only a copy is asynchronous: a computed value is stored as it is.
// The same for 16 bytes, where one condition holds for all of them.
TEST(Pipeline, GuardedWideCopiesAreZeroFilled) {
  auto text = [](const Expr &condition) {
    return text_of([=] {
      const auto address = [](const char *array) {
        return Call::make(Handle(), kAddressOf, {load(array, lane * 4)}, Call::PureExtern);
      };
      const Expr wide = Call::make(Float(32, 4), "hconv::load_aligned", {address("x")}, Call::PureExtern);
      const Expr value = Select::make(condition, wide, make_zero(Float(32, 4)));
      const Stmt copy =
          Evaluate::make(Call::make(Int(32), "hconv::store_aligned", {address("tile"), value}, Call::Extern));
      return piped(loop("sum.s1.k", 4, Block::make({produce("tile", copy), barrier(), compute})));
    });
  };
  const std::string all = text(Broadcast::make(lane < var("W"), 4));
  EXPECT_NE(all.find("hconv::cp_async16("), std::string::npos) << all;
  EXPECT_NE(all.find("select(threadIdx.x < W, (uint32)1, (uint32)0)"), std::string::npos) << all;
  EXPECT_NE(all.find("select((copy_mask[0] % (uint32)2) == (uint32)0, 0, 16)"), std::string::npos) << all;
  EXPECT_EQ(all.find("store_aligned"), std::string::npos) << all;
  const std::string each = text(Ramp::make(lane, 1, 4) < Broadcast::make(var("W"), 4));
  EXPECT_EQ(each.find("hconv::cp_async16("), std::string::npos) << each;
  EXPECT_NE(each.find("store_aligned"), std::string::npos) << each;
}

TEST(Pipeline, ComputedValuesStayPlainStores) {
  const std::string text = text_of([] {
    return piped(loop("sum.s1.k", 4,
                      Block::make({produce("tile", store("tile", load("x", lane) * 2.f, lane)), barrier(), compute})));
  });
  EXPECT_EQ(text.find("hconv::cp_async4("), std::string::npos) << text;
  EXPECT_NE(text.find("tile.write[threadIdx.x] = (float32)x[threadIdx.x]*2.000000f"), std::string::npos) << text;
}

TEST(Pipeline, NothingIsDoneWhereNothingIsAsked) {
  const Stmt body = loop("sum.s1.k", 4, Block::make({stage, barrier(), compute, barrier()}));
  const std::string before = text_of(
      [&] { return to_string(Allocate::make("tile", Float(32), MemoryType::GPUShared, {32}, const_true(), body)); });
  EXPECT_EQ(text_of([&] { return piped(body, 1); }), before);
  EXPECT_EQ(text_of([&] { return piped(body, 4, ""); }), before);
}

TEST(Pipeline, SaysWhatDoesNotFit) {
  expect_refusal("No serial loop k to make a pipeline of 3 stages", [] {
    return loop("sum.s1.other", 4, Block::make({stage, barrier(), compute}));
  });
  const std::string cannot = "Loop k cannot be a pipeline of 3 stages: ";
  expect_refusal(cannot + "no producer of a shared array comes first in its body",
                 [] { return loop("sum.s1.k", 4, Block::make(store("y", 0.f, lane), barrier())); });
  expect_refusal(cannot + "nothing follows its producers",
                 [] { return loop("sum.s1.k", 4, Block::make(stage, barrier())); });
  expect_refusal(cannot + "its consumers hold a barrier", [] {
    return loop("sum.s1.k", 4, Block::make({stage, barrier(), compute, barrier(), compute}));
  });
  expect_refusal(cannot + "a producer holds a barrier", [] {
    return loop("sum.s1.k", 4, Block::make(produce("tile", Block::make(store("tile", 0.f, lane), barrier())), compute));
  });
  expect_refusal(cannot + "the extent of sum.s1.k depends on sum.s1.c", [] {
    return loop("sum.s1.c", 4, loop("sum.s1.k", c + 1, Block::make({stage, barrier(), compute})));
  });
  expect_refusal(cannot + "its consumers write tile", [] {
    return loop("sum.s1.k", 4, Block::make({stage, barrier(), compute, store("tile", 0.f, lane)}));
  });
}

/** The IR of 3 stages where each of 32 threads adds to sums[0] of `count`, besides what `more` does. Around it live so
 * many other shared arrays of one element. */
std::string summed(const BlockedSums &blocks, int count = 2, const Stmt &more = Evaluate::make(0), int others = 0) {
  const Stmt add = store("sums", load("sums", 0) + load("tile", lane), 0);
  Stmt body = loop("sum.s1.k", var("K"), Block::make({stage, barrier(), Block::make(add, more), barrier()}));
  for (const std::string &array : {std::string("sums"), std::string("other")})
    body = Allocate::make(array, Float(32), MemoryType::Register, {count}, const_true(), body);
  body = Allocate::make("tile", Float(32), MemoryType::GPUShared, {32}, const_true(), body);
  for (int i = 0; i < others; i++)
    body = Allocate::make("other" + std::to_string(i), Float(32), MemoryType::GPUShared, {1}, const_true(), body);
  return to_string(pipeline(body, {"k", 3}, blocks));
}

bool has_totals(const BlockedSums &blocks, int count, int others = 0) {
  const std::string text = text_of([&] { return summed(blocks, count, Evaluate::make(0), others); });
  return text.find("totals") != std::string::npos;
}

// 32 threads along x, 8 sums each; a block of sums is two of the steps of 16 products.
TEST(Pipeline, SumsInBlocks) {
  expect_golden(text_of([] { return cuda_of(mma_matmul(BFloat(16), 1), {"chunk", 2}, {}, 2); }), "cu");
}

TEST(Pipeline, OneLoopWithSumsInBlocks) {
  expect_golden(text_of([] { return summed({5, 32, 1}); }));
}

// No totals are set, moved or added unless there are more than 5 steps.
TEST(Pipeline, OneLoopWithLongSumsInBlocks) {
  expect_golden(text_of([] { return summed({5, 32, 1, true}); }));
}

TEST(Pipeline, NoStepsInABlockOfSumsChangesNothing) {
  const std::string matmul_in_one_chain = text_of([] { return cuda_of(matmul(), {"chunk", 3}); });
  EXPECT_EQ(text_of([] { return cuda_of(matmul(), {"chunk", 3}, {}, 0); }), matmul_in_one_chain);
  const std::string one_chain = text_of([] { return summed({}); });
  EXPECT_EQ(one_chain.find("totals"), std::string::npos) << one_chain;
  EXPECT_EQ(text_of([] { return summed({0, 32, 2}); }), one_chain);
}

// A multiprocessor has 228 KiB, of which the system takes 1 KiB for each block. The stages of tile take 3 * 128 bytes,
// so (233472 - 1024 - 384) / 128 = 1813 sums of 32 threads still fit; of two blocks, (116736 - 1024 - 384) / 128 = 901.
TEST(Pipeline, TotalsLeaveRoomForTheBlocks) {
  EXPECT_TRUE(has_totals({5, 32, 1}, 1813));
  EXPECT_FALSE(has_totals({5, 32, 1}, 1814));
  EXPECT_TRUE(has_totals({5, 32, 2}, 901));
  EXPECT_FALSE(has_totals({5, 32, 2}, 902));
  EXPECT_EQ(text_of([] { return summed({5, 32, 2}, 902); }), text_of([] { return summed({}, 902); }));
}

// Arrays start at multiples of 128 bytes, so that two of 16 bytes take as much as two of 128.
TEST(Pipeline, TotalsLeaveRoomForThePaddingOfArrays) {
  EXPECT_TRUE(has_totals({5, 32, 1}, 1811, 2));
  EXPECT_FALSE(has_totals({5, 32, 1}, 1812, 2));
}

TEST(Pipeline, RefusesLongSumsWithoutRoomForTheirTotals) {
  EXPECT_TRUE(has_totals({5, 32, 2, true}, 901));
  const std::string error = refusal_of([] { return summed({5, 32, 2, true}, 902); });
  EXPECT_NE(error.find("totals of its sums leave no room for 2 blocks of 116864 bytes"), std::string::npos) << error;
}

// What is only stored is no sum.
TEST(Pipeline, FindsTheSumsAmongTheArrays) {
  const std::string text = text_of([] { return summed({5, 32, 1}, 2, store("other", load("sums", 1), 0)); });
  EXPECT_NE(text.find("sums[sum] = 0.000000f"), std::string::npos) << text;
  EXPECT_EQ(text.find("other[sum]"), std::string::npos) << text;
}

TEST(Pipeline, RefusesBlocksOfSumsThatItCannotTell) {
  const std::string cannot = "Loop k cannot be a pipeline of 3 stages: ";
  const std::string none = refusal_of([] {
    const Stmt body = loop("sum.s1.k", 4, Block::make({stage, barrier(), compute, barrier()}));
    return to_string(pipeline(Allocate::make("tile", Float(32), MemoryType::GPUShared, {32}, const_true(), body),
                              {"k", 3}, {5, 32, 1}));
  });
  EXPECT_NE(none.find(cannot + "blocks of its sums are asked for, but it adds to no private float32 array"),
            std::string::npos)
      << none;
  const std::string two = refusal_of([] {
    return summed({5, 32, 1}, 2, store("other", load("other", 0) + load("tile", lane), 0));
  });
  EXPECT_NE(two.find(cannot + "two float32 arrays, other and sums, could be its sums"), std::string::npos) << two;
}

/** y[lane] = x[lane] + x[4 + lane] + ... of K rows, by 4 threads: the CUDA text with blocks of sum_steps rows. */
std::string column_sums(int sum_steps, bool only_long) {
  CudaKernel kernel;
  kernel.name = "column_sums";
  kernel.block[0] = 4;
  kernel.arguments = {{"x", Float(32), true, false}, {"y", Float(32), true, true}, {"K", Int(32)}};
  const Stmt copy = produce("tile", store("tile", load("x", k * 4 + lane), lane));
  const Stmt add = store("sums", load("sums", 0) + load("tile", lane), 0);
  Stmt body =
      Block::make({store("sums", 0.f, 0), loop("sum.s1.k", var("K"), Block::make({copy, barrier(), add, barrier()})),
                   store("y", load("sums", 0), lane)});
  body = Allocate::make("sums", Float(32), MemoryType::Register, {1}, const_true(), body);
  body = Allocate::make("tile", Float(32), MemoryType::GPUShared, {4}, const_true(), body);
  kernel.body = pipeline(body, {"k", 3}, {sum_steps, kernel.threads(), 1, only_long});
  layout_shared_memory(kernel);
  return print_cuda(kernel);
}

/** Runs column_sums as 4 host threads. Lane l's column is 2^(24 + l), then rows of 2^l: a float32 of 2^24 or more does
 * not change when 1 is added to it. */
const char *const kColumns = R"(
namespace hconv {
namespace twin {
void async_copy(void *shared, const void *global, int, int bytes) { std::memcpy(shared, global, bytes); }
void async_commit() {}
void async_wait(int) {}
}
}
float x[ROWS * 4], y[4];
int main() {
  for (int i = 0; i < ROWS * 4; i++)
    x[i] = float(1 << i % 4) * (i < 4 ? 16777216.f : 1.f);
  hconv::twin::run_blocks(1, 4, 1, [] { column_sums(x, y, ROWS); });
  for (int t = 0; t < 4; t++)
    printf("%.1f ", y[t] / float(1 << t) - 16777216.f);
}
)";

/** What the sums of all columns exceed their first rows by, in units of the other rows. */
std::string excess(int rows, int sum_steps, bool only_long = false) {
  const Folder folder;
  write_file(folder.path("columns.cpp"), "#include \"hconv_prelude.cuh\"\n" +
                                             text_of([=] { return column_sums(sum_steps, only_long); }) + kHostThreads +
                                             kColumns);
  const Ended compiled = run_host_compiler(
      {"-w", "-pthread", "-DROWS=" + std::to_string(rows), folder.path("columns.cpp"), "-o", folder.path("columns")});
  EXPECT_EQ(compiled.status, 0) << compiled.output;
  return run_program({folder.path("columns")}).output;
}

// The first block of 4 rows loses 3; 100 whole blocks add 4 each, and the 2 rows after them stay in the sums.
TEST(Pipeline, SumsInBlocksLoseNoSmallAddends) {
  EXPECT_EQ(excess(4 + 100 * 4 + 2, 0), "0.0 0.0 0.0 0.0 ");
  EXPECT_EQ(excess(4 + 100 * 4 + 2, 4), "402.0 402.0 402.0 402.0 ");
  EXPECT_EQ(excess(3, 4), "0.0 0.0 0.0 0.0 "); // never a whole block
  EXPECT_EQ(excess(8, 4), "4.0 4.0 4.0 4.0 "); // only whole ones
}

TEST(Pipeline, LongSumsInBlocksLoseNoSmallAddends) {
  EXPECT_EQ(excess(4 + 100 * 4 + 2, 4, true), "402.0 402.0 402.0 402.0 ");
  EXPECT_EQ(excess(3, 4, true), "0.0 0.0 0.0 0.0 ");
  EXPECT_EQ(excess(4, 4, true), "0.0 0.0 0.0 0.0 "); // one block: no totals
  EXPECT_EQ(excess(6, 4, true), "2.0 2.0 2.0 2.0 "); // two more steps
  EXPECT_EQ(excess(8, 4, true), "4.0 4.0 4.0 4.0 ");
}

} // namespace
