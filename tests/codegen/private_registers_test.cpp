/** private_registers: Register arrays become small arrays of each thread. */
#include "codegen/private_registers.h"

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

/** A Register array "acc" of which a block has `elements`. */
Stmt array(int elements, const Stmt &body) {
  return Allocate::make("acc", Float(32), MemoryType::Register, {elements}, const_true(), body);
}

/** The IR after both passes, in a block of 32 x 4 threads. */
std::string after(const std::function<Stmt()> &body) {
  CudaKernel kernel;
  kernel.block[0] = 32;
  kernel.block[1] = 4;
  kernel.body = body();
  kernel.body = constant_loops(kernel);
  return to_string(private_registers(kernel.body));
}
std::string text_after(const std::function<Stmt()> &body) {
  return text_of([&] { return after(body); });
}
void expect_refusal(const std::string &part, const std::function<Stmt()> &body) {
  const std::string error = refusal_of([&] { return after(body); });
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

const Expr lane = var("threadIdx.x"), row = var("threadIdx.y");

// acc[row * 512 + m * 128 + lane * 4 + n]: 4 x 4 elements a thread, of 2048.
TEST(PrivateRegisters, DropsTheOwnerAndNumbersDensely) {
  expect_golden(text_after([] {
    const Expr place = row * 512 + var("m") * 128 + lane * 4 + var("n");
    return array(2048, Block::make(loop("m", 0, 4, loop("n", 0, 4, store("acc", 0.f, place))),
                                   loop("m", 0, 4, loop("n", 0, 4, store("y", load("acc", place), place)))));
  }));
}

TEST(PrivateRegisters, KeepsConstantOffsetsOfUnrolledLoops) {
  expect_golden(text_after([] {
    std::vector<Stmt> stores;
    for (int m = 0; m < 2; m++) {
      for (int n = 0; n < 3; n++)
        stores.push_back(store("acc", float(10 * m + n), lane * 3 + n + m * 96));
    }
    stores.push_back(store("y", load("acc", lane * 3 + 98), lane));
    return array(192, Block::make(stores));
  }));
}

TEST(PrivateRegisters, KeepsVectors) {
  expect_golden(text_after([] {
    const Expr place = Ramp::make(lane * 4 + var("m") * 128, 1, 4);
    return array(512, Block::make(loop("m", 0, 4, store("acc", Broadcast::make(0.f, 4), place)),
                                  loop("m", 0, 4, store("y", load("acc", place), place))));
  }));
}

// A window of ow + kw elements: two loops of one stride count together.
TEST(PrivateRegisters, AddsLoopsOfOneStride) {
  expect_golden(text_after([] {
    const Expr ow = var("ow"), kw = var("kw");
    return array(64, Block::make(loop("i", 0, 6, store("acc", load("x", var("i")), lane * 6 + var("i"))),
                                 loop("kw", 0, 3, loop("ow", 0, 4, store("y", load("acc", lane * 6 + ow + kw), ow)))));
  }));
}

TEST(PrivateRegisters, ReplacesLetsOutsideAndInsideExpressions) {
  expect_golden(text_after([] {
    const Expr base = var("base"), t = var("t"), m = var("m");
    const Stmt statement = LetStmt::make("base", lane * 4 + m, store("acc", 1.f, base));
    const Stmt inside = store("y", Let::make("t", m * 2, load("acc", lane * 4 + t + 1)), m);
    return array(128, Block::make(loop("m", 0, 4, statement), loop("m", 0, 2, inside)));
  }));
}

// A loop that starts elsewhere counts from its start: a constant one and one that depends on the thread.
TEST(PrivateRegisters, CountsFromTheLoopsStart) {
  expect_golden(text_after([] {
    const Expr m = var("m"), n = var("n");
    return array(512, Block::make(loop("m", lane * 4, 4, store("acc", 1.f, m)),
                                  loop("n", 1, 3, store("y", load("acc", lane * 4 + n), n))));
  }));
}

TEST(PrivateRegisters, LeavesSharedMemoryAndOtherLoopsAlone) {
  const std::function<Stmt()> body = [] {
    return Allocate::make("tile", Float(32), MemoryType::GPUShared, {64}, const_true(),
                          loop("i", 0, var("n"), store("tile", 0.f, lane * 2 + var("i"))));
  };
  EXPECT_EQ(text_after(body), text_of([&] { return to_string(body()); }));
}

TEST(PrivateRegisters, RefusesAnotherThreadsElement) {
  expect_refusal("Register array acc would fall into local memory: index", [] {
    return array(128, Block::make(store("acc", 0.f, lane * 4), store("y", load("acc", 124 - lane * 4), lane)));
  });
  expect_refusal("belongs to another thread than the accesses before it", [] {
    return array(128, Block::make(store("acc", 0.f, lane * 4), store("y", load("acc", row * 4), lane)));
  });
}

TEST(PrivateRegisters, RefusesWhatIsNotAffine) {
  expect_refusal("is not linear in loop m",
                 [] { return array(128, loop("m", 0, 8, store("acc", 0.f, lane * 4 + var("m") % 3))); });
  expect_refusal("is not linear in loop m",
                 [] { return array(128, loop("m", 0, 8, store("acc", 0.f, lane * var("m")))); });
  expect_refusal("runs backwards in loop m",
                 [] { return array(128, loop("m", 0, 4, store("acc", 0.f, lane * 4 + 3 - var("m")))); });
  expect_refusal("is neither a scalar nor a ramp", [] {
    const Expr shuffled = Ramp::make(0, 1, 4) % Broadcast::make(3, 4);
    return array(128, store("acc", Broadcast::make(0.f, 4), shuffled));
  });
}

// Which element it is depends on data: two accesses of one text may mean different elements.
TEST(PrivateRegisters, RefusesAnIndexThatIsLoaded) {
  expect_refusal("depends on a loaded value", [] {
    const Expr at = Load::make(Int(32), "table", lane, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
    return array(128, Block::make(store("acc", 0.f, at), store("y", load("acc", at), lane)));
  });
}

// Strides 4 and 6, where 4 reaches beyond 6: element 12 would have two places.
TEST(PrivateRegisters, RefusesOverlappingStrides) {
  expect_refusal("elements 6 apart overlap with its smaller strides", [] {
    return array(128, loop("m", 0, 4, loop("n", 0, 3, store("acc", 0.f, var("m") * 4 + var("n") * 6))));
  });
}

TEST(PrivateRegisters, NamesTheLoopsToUnroll) {
  EXPECT_EQ(text_of([] {
              std::string names;
              const Stmt body = array(128, loop("k", 0, var("K"),
                                                loop("m", 0, 4,
                                                     store("acc", Let::make("t", var("n") * 2, load("acc", var("t"))),
                                                           lane * 4 + var("m")))));
              for (const std::string &name : register_loops(body))
                names += name + " ";
              return names;
            }),
            "m n threadIdx.x ");
}

/** Evaluates an index for values of its variables. */
int64_t value_of(const Expr &e, const std::map<std::string, Expr> &values) {
  return as_const_int(simplify(substitute(values, e))).value_or(INT64_MIN);
}

/** The index of the only store to acc. */
Expr index_in(const Stmt &s) {
  class Find : public IRVisitor {
    using IRVisitor::visit;
    void visit(const Store *op) override { index = op->index; }

  public:
    Expr index;
  } find;
  s.accept(&find);
  return find.index;
}

// Random strides, extents and offsets: within a thread the new numbering keeps different elements different, and inside
// the array.
TEST(PrivateRegisters, NumberingIsOneToOne) {
  const std::string faults = text_of([] {
    std::ostringstream out;
    uint32_t state = 12345;
    auto below = [&](int n) { return int((state = state * 1664525u + 1013904223u) >> 16) % n; };
    for (int round = 0; round < 200; round++) {
      const int em = 1 + below(4), en = 1 + below(4), sn = 1 + below(3), sm = sn * en + below(20), start = below(5);
      const Expr place = lane * 1000 + var("m") * sm + var("n") * sn + below(7);
      const Stmt s = private_registers(array(32000, loop("m", start, em, loop("n", 0, en, store("acc", 0.f, place)))));
      const Allocate *op = s.as<Allocate>();
      const int size = op->constant_allocation_size();
      std::set<int64_t> places;
      for (int m = start; m < start + em; m++) {
        for (int n = 0; n < en; n++)
          places.insert(value_of(index_in(s), {{"m", Expr(m)}, {"n", Expr(n)}, {"threadIdx.x", Expr(3)}}));
      }
      if (int(places.size()) != em * en || *places.begin() < 0 || *places.rbegin() >= size || size > 2 * em * en + 8)
        out << "m in " << em << " of stride " << sm << ", n in " << en << " of stride " << sn << " start " << start
            << ":\n"
            << s;
    }
    return out.str();
  });
  EXPECT_EQ(faults, "");
}

} // namespace
