/** quad_stores: the sums of a tensor core's tiles leave by 16 bytes a lane. */
#include "codegen/quad_stores.h"

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

TEST(QuadStores, OfAWarpgroup) {
  expect_golden(text_of([] {
                  CudaBackendOptions options;
                  options.quad_stores = "pair";
                  return cuda_of(wgmma_product(BFloat(16), 1), options);
                }),
                "cu");
}

Expr var(const std::string &name) {
  return Variable::make(Int(32), name);
}

const Expr lane = var("threadIdx.x"), g = lane / 4, q = lane % 4;
const Expr nt = var("s.nt"), half = var("s.half"), pair = var("s.pair"), width = var("width"), pitch = var("pitch");

/** for half in 2: for nt in 4: if ..: for pair in 2: if ..: y[..] = bfloat16(sums[..]), which the pass takes. */
struct Nest {
  Expr index = (half * 8 + g) * pitch + nt * 8 + q * 2 + pair;
  Expr tile_condition = nt < min((width - q * 2 + 7) / 8, 4), condition = pair < min(width - (nt * 8 + q * 2), 2);
  Expr value = Nest::load("sums", Float(32), (half * 4 + nt) * 2 + pair);
  Type type = BFloat(16);
  int nt_extent = 4;
  std::string pair_name = "s.pair";

  static Expr load(const std::string &array, Type type, const Expr &index) {
    return Load::make(type, array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
  }
  static Stmt loop(const std::string &name, const Expr &extent, const Stmt &body) {
    return For::make(name, 0, extent, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
  }
  std::string result() const {
    Stmt s = Store::make("y", Cast::make(type, value), index, Parameter(), const_true(), ModulusRemainder());
    s = loop(pair_name, 2, IfThenElse::make(condition, s));
    s = loop("s.half", 2, loop("s.nt", nt_extent, IfThenElse::make(tile_condition, s)));
    s = Allocate::make("sums", Float(32), MemoryType::Register, {16}, const_true(), s);
    return to_string(quad_stores(s, "pair"));
  }
};

std::string changed(const std::function<void(Nest &)> &change) {
  return text_of([&] {
    Nest nest;
    change(nest);
    return nest.result();
  });
}

TEST(QuadStores, NeighboursAreColumns) {
  expect_golden(changed([](Nest &) {}));
}

// Rows are neighbours: tiles are transposed first.
TEST(QuadStores, NeighboursAreRows) {
  expect_golden(changed([](Nest &n) {
    n.index = (nt * 8 + q * 2 + pair) * pitch + half * 8 + g;
    n.tile_condition = half * 8 + g < width;
    n.condition = nt * 8 + q * 2 + pair < var("height");
  }));
}

// 6 tiles: the second exchange is of 2 and of zeros that are not stored.
TEST(QuadStores, TilesThatMakeNoWholeFours) {
  expect_golden(changed([](Nest &n) {
    n.nt_extent = 3;
    n.value = Nest::load("sums", Float(32), (half * 3 + nt) * 2 + pair);
  }));
}

TEST(QuadStores, NothingIsDoneWhereNothingIsAsked) {
  const Stmt s = Store::make("y", 0.f, lane, Parameter(), const_true(), ModulusRemainder());
  EXPECT_EQ(text_of([&] { return to_string(quad_stores(s, "")); }), text_of([&] { return to_string(s); }));
}

void expect_refusal(const std::string &part, const std::function<void(Nest &)> &spoil) {
  const std::string error = refusal_of([&] {
    Nest nest;
    spoil(nest);
    return nest.result();
  });
  EXPECT_NE(error.find(part), std::string::npos) << "expected: " << part << "\nfound: " << error;
}

TEST(QuadStores, SaysWhatDoesNotFit) {
  const std::string cannot = "The sums cannot be stored 16 bytes at a time: ";
  expect_refusal("No loop nest with a loop pair stores 16-bit floats", [](Nest &n) { n.pair_name = "s.other"; });
  expect_refusal("No loop nest with a loop pair stores 16-bit floats", [](Nest &n) { n.type = Float(32); });
  expect_refusal(cannot + "element 1 of 8 lies 2 elements behind the first",
                 [](Nest &n) { n.index = (half * 8 + g) * 2 + nt * 8 + (q * 2 + pair) * 64; });
  expect_refusal(cannot + "within a tile their index moves by",
                 [](Nest &n) { n.index = (half * 8 + g) * pitch + nt * 8 + q * width + pair; });
  expect_refusal(cannot + "it is not proved that the middle of a row is stored where its ends are, under",
                 [](Nest &n) { n.condition = pair + q * 2 != width; });
  expect_refusal(cannot + "element g of bias, which they are made of, may not be there",
                 [](Nest &n) { n.value = Nest::load("bias", Float(32), var("g")); });
}

} // namespace
