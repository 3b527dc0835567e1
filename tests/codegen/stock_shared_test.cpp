/** stock_shared: shared memory of Halide's own PTX back end, moved out of the system's part. */
#include "codegen/stock_shared.h"

#include "support/child.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include <gtest/gtest.h>
#include <set>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

/** The size of the one shared array of a statement, and the indices of its accesses. */
struct Shared : public IRVisitor {
  std::string name;
  Expr size;
  int bytes = 0; // of an element
  std::vector<Expr> indices;
  using IRVisitor::visit;
  void visit(const Allocate *op) override {
    if (op->memory_type == MemoryType::GPUShared) {
      name = op->name;
      bytes = op->type.bytes();
      size = 1;
      for (const Expr &extent : op->extents)
        size = simplify(size * extent);
    }
    IRVisitor::visit(op);
  }
  void visit(const Load *op) override {
    if (op->name == name)
      indices.push_back(op->index);
    IRVisitor::visit(op);
  }
  void visit(const Store *op) override {
    if (op->name == name)
      indices.push_back(op->index);
    IRVisitor::visit(op);
  }
};

Shared shared_of(const Stmt &s) {
  Shared shared;
  s.accept(&shared);
  return shared;
}

/** By how many bytes the pass grew the shared array of a matrix product, and moved its accesses: each once. */
std::string moves(Type type) {
  return text_of([&] {
    const Stmt host = lower(matmul(type));
    const Shared before = shared_of(host), after = shared_of(stock_shared(host));
    std::set<int64_t> distances;
    for (size_t i = 0; i < before.indices.size(); i++) {
      Expr by = simplify(after.indices[i] - before.indices[i]);
      const Broadcast *vector = by.as<Broadcast>();
      distances.insert(as_const_int(vector ? vector->value : by).value_or(-1) * before.bytes);
    }
    std::ostringstream out;
    out << before.indices.size() << " accesses, size " << simplify((after.size - before.size) * before.bytes);
    for (int64_t distance : distances)
      out << ", moved " << distance;
    return out.str();
  });
}

TEST(StockShared, GrowsTheArrayAndMovesEveryAccessByOneKiB) {
  // Two arrays in one allocation, each stored and loaded once in the text.
  EXPECT_EQ(moves(Float(32)), "4 accesses, size 1024, moved 1024");
  EXPECT_EQ(moves(Float(16)), "4 accesses, size 1024, moved 1024");
}

TEST(StockShared, LeavesAPipelineWithoutSharedMemoryAsItIs) {
  EXPECT_EQ(text_of([] {
              const Stmt host = lower(scaled());
              return std::string(equal(stock_shared(host), host) ? "same" : "changed");
            }),
            "same");
}

} // namespace
