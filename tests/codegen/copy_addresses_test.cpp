/** copy_addresses: what a pipeline's copies share over its steps is computed once. */
#include "codegen/copy_addresses.h"

#include "codegen/async_copies.h"
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

const Expr t = var("threadIdx.x"), c = var("s.c"), k = var("s.k"), p = var("s.p"), width = var("W"),
           pitch = var("pitch"), channels = var("C");

/** Copies of 4 bytes into tile, in loops over c (outermost) and k. */
struct Staged {
  Expr place = p * 32 + t, index = p * pitch + t + c * width + k;
  Expr condition = t + k < width;
  Expr extent = 2;         // of loop p in the producer
  Expr several = var("K"); // extent of loop k
  Lets around, lets;

  std::string result() const {
    Stmt copy = store("tile", select(condition, load("x", index), 0.f), place);
    copy = loop("s.p", 0, extent, copy);
    return show(copy);
  }

  std::string show(const Stmt &body) const {
    PipelineNest nest;
    const Stmt inner = loop("s.k", 0, several, Evaluate::make(0)), outer = loop("s.c", 0, channels, inner);
    nest.loops = {outer.as<For>(), inner.as<For>()};
    nest.staging_lets = lets;
    KernelArrays arrays;
    arrays.shared["tile"] = {Float(32), 64};
    const Stmt producer = ProducerConsumer::make_produce("tile", body);
    const StagedCopies copies = copy_addresses(async_copies(producer, arrays), nest, around, {32, 1, 1});
    std::string text;
    for (const auto &[name, count] : copies.kept)
      text += name + "[" + std::to_string(count) + "]\n";
    if (copies.first.defined())
      text += to_string(copies.first);
    return text + "each step:\n" + to_string(copies.staging);
  }
};

std::string changed(const std::function<void(Staged &)> &change) {
  return text_of([&] {
    Staged staged;
    change(staged);
    return staged.result();
  });
}

// Two copies, each with a register for its offset and a bit that k decides.
TEST(CopyAddresses, OfTwoPlaces) {
  expect_golden(changed([](Staged &) {}));
}

// One offset and one condition serve both channels; the bound of the channels is looked at in each step.
TEST(CopyAddresses, ChannelsShareAnAddress) {
  expect_golden(changed([](Staged &s) {
    s.place = p * 32 + t;
    s.index = (c * 2 + p) * pitch + t / 8 * width + t % 8;
    s.condition = t % 8 < width && c * 2 + p < channels;
  }));
}

// Clamps that the condition makes idle are gone; the others stay, and are looked at again where k has several steps.
TEST(CopyAddresses, ConditionsDropClamps) {
  const std::string dropped = changed([](Staged &s) {
    s.index = max(min(t + k - var("pad"), width - 1), 0) + c * pitch;
    s.condition = var("pad") <= t + k && t + k < var("pad") + width;
  });
  EXPECT_EQ(dropped.find("min("), std::string::npos) << dropped;
  EXPECT_EQ(dropped.find("max("), std::string::npos) << dropped;
  const std::string kept = changed([](Staged &s) {
    s.index = min(t + k, width - 1) + c * pitch;
    s.condition = t < 7;
  });
  EXPECT_NE(kept.find("if (1 < K) {\n copy_offset[0] = uint32(min("), std::string::npos) << kept;
}

// With one step of k nothing is made again.
TEST(CopyAddresses, OneStepOfTheInnerLoop) {
  const std::string text = changed([](Staged &s) { s.several = 1; });
  EXPECT_EQ(text.find("if (1 <"), std::string::npos) << text;
}

// Lets around the nest are seen through where threads differ in them; a guard decides whether there is a copy at all.
TEST(CopyAddresses, LetsAndGuards) {
  expect_golden(text_of([] {
    Staged s;
    s.around = {{"lane", t % 8}, {"block", var("blockIdx.x") * 64}};
    s.lets = {{"row", var("lane") + c * 8}};
    const Stmt copy = store("tile", load("x", var("row") * pitch + var("block")), t * 2);
    return s.show(IfThenElse::make(t < 20, copy));
  }));
}

void expect_unchanged(const std::string &text) {
  EXPECT_EQ(text.find("each step:"), 0u) << text;
  EXPECT_EQ(text.find("copy_"), std::string::npos) << text;
}

TEST(CopyAddresses, LeavesWhatDoesNotFit) {
  expect_unchanged(changed([](Staged &s) { s.index = c / 2 * width + t; }));                     // not linear in c
  expect_unchanged(changed([](Staged &s) { s.index = min(c, 5) + t; }));                         // not linear in c
  expect_unchanged(changed([](Staged &s) { s.place = c % 2 * 32 + t; }));                        // moves in tile
  expect_unchanged(changed([](Staged &s) { s.extent = channels; }));                             // of no known extent
  expect_unchanged(changed([](Staged &s) { s.extent = 257; }));                                  // too many
  expect_unchanged(changed([](Staged &s) { s.index = hconv::load(Int(32), "table", t); }));      // data in the index
  expect_unchanged(changed([](Staged &s) { s.condition = load("x", t) > 0.f; }));                // and the condition
  expect_unchanged(text_of([] { return Staged().show(store("tile", load("x", t) * 2.f, t)); })); // computed
  expect_unchanged(text_of([] {
    return Staged().show(IfThenElse::make(c < 3, store("tile", load("x", t), t))); // a guard in c
  }));
  expect_unchanged(text_of([] {
    const Stmt copy = store("tile", load("x", t), t);
    return Staged().show(IfThenElse::make(t < 3, copy, copy)); // two branches
  }));
}

} // namespace
