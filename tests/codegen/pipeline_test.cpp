/** pipeline: loops that stage and compute become software pipelines. */
#include "codegen/pipeline.h"

#include "support/child.h"
#include "support/golden.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

Expr var(const std::string &name) {
  return Variable::make(Int(32), name);
}
Expr load(const std::string &name, const Expr &index) {
  return Load::make(Float(32), name, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}
Stmt store(const std::string &name, const Expr &value, const Expr &index) {
  return Store::make(name, value, index, Parameter(), const_true(), ModulusRemainder());
}
Stmt loop(const std::string &name, const Expr &extent, const Stmt &body) {
  return For::make(name, 0, extent, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
}
Stmt barrier() {
  return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {Expr(0)}, Call::Intrinsic));
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
  EXPECT_NE(text.find("select(threadIdx.x < W, 4, 0)"), std::string::npos) << text;
}

// Only a copy is asynchronous: a computed value is stored as it is.
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

} // namespace
