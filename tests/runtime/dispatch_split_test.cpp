// When a sum is split into parts, and into how many, on pretended machines. Split variants of the fake table serve
// kernels of width 9.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/error.h"
#include "runtime/layout.h"
#include "runtime/split.h"
#include "runtime/tuned_table.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char *direct_name = "conv2d_direct_f32_oc16x16_kw9_split_cuda";

const Variant &direct() {
  return *find_variant(direct_name);
}

/// 8 outputs a row; `channels` in steps of 2.
hconv_problem small(int64_t batch, int64_t channels, int64_t rows = 8) {
  hconv_problem p = square_problem(cuda0, batch, channels, 16, 9, 9);
  p.height = rows + 8;
  return p;
}

/// The variant and, of a split one, its parts; or the sentence of a refusal.
std::string chosen(const hconv_problem &p, const Machine &machine = {}, const Environment &environment = {}) {
  Choice choice;
  if (choose(p, machine, environment, &choice))
    return last_error();
  EXPECT_EQ(choice.parts != 0, choice.variant->split != 0);
  EXPECT_EQ(choice.sum_parts != nullptr, choice.variant->split != 0);
  return choice.variant->name + (choice.parts ? "+" + std::to_string(choice.parts) : "");
}

std::string pinned(const hconv_problem &p, const std::string &name) {
  Environment pin;
  pin.variant = name;
  return chosen(p, {}, pin);
}

TEST(DispatchSplit, FewOutputsAndManyChannelsAreSplit) {
  const std::string name = direct_name;
  // 8 rows and 16 tiles of 16 channels: 128 blocks, and twice as many after a split would be two waves.
  EXPECT_EQ(chosen(small(1, 256)), name + "+1");
  EXPECT_EQ(chosen(small(1, 256, 1)), name + "+8"); // 16 blocks
  EXPECT_EQ(chosen(small(1, 256, 2)), name + "+4"); // 32 blocks
  hconv_problem wide = small(4, 64, 57);            // 64 columns fill the tiles of a variant without a split
  wide.width = 64 + 8;
  EXPECT_EQ(chosen(wide), "conv2d_direct_f32_oc64x64_kw3_cuda");
  Machine one; // which 16 blocks fill
  one.multiprocessors = 1;
  EXPECT_EQ(chosen(small(1, 256, 1), one), name + "+1");
}

TEST(DispatchSplit, ServesStrictNumerics) {
  hconv_problem p = small(1, 256, 1);
  p.math = HCONV_MATH_STRICT;
  EXPECT_EQ(chosen(p), std::string(direct_name) + "+8");
}

TEST(DispatchSplit, TakesDivisorsOfItsSteps) {
  EXPECT_THAT(possible_parts(direct(), small(1, 24)), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(possible_parts(direct(), small(1, 23)), ElementsAre(1, 2, 3, 4, 6, 12)); // the last step is not full
  EXPECT_THAT(possible_parts(direct(), small(1, 1)), ElementsAre(1));
  EXPECT_EQ(possible_parts(direct(), small(1, 1024)).back(), most_parts);
  hconv_problem p = small(1, 24); // 2^29 outputs an image
  p.height = (1 << 13) + 8;
  p.width = (1 << 13) + 8;
  p.out_channels = 8;
  EXPECT_THAT(possible_parts(direct(), p), ElementsAre(1, 2, 3));
  EXPECT_EQ(why_not_parts(direct(), p, 4), "4 parts of an image of y would have 2^31 elements or more");
}

TEST(DispatchSplit, CostAddsTheSecondStage) {
  const hconv_problem p = small(2, 24, 3); // 2 x 3 rows of 8 outputs and 24 channels: 2 tiles, 12 blocks a part
  const Cost cost = split_cost_of(direct(), 4, p, {});
  EXPECT_EQ(cost.blocks, 48);
  EXPECT_EQ(cost.waves, 1);
  EXPECT_DOUBLE_EQ(cost.product, 16.0 * 16 * 6 * 81 / 0.75);
  const double outputs = 2 * 24 * 3 * 8; // each written and read in float32 four times, and stored once
  EXPECT_DOUBLE_EQ(cost.output, 100 * (outputs * 4 * 8 + outputs * 4) / (132 * 40));
  EXPECT_DOUBLE_EQ(cost.launches, 100 * 2000);
  EXPECT_DOUBLE_EQ(cost.value, cost.product + cost.output + cost.launches);
  EXPECT_EQ(cost_of(direct(), nullptr, p, {}, 4).value, cost.value);
  const int64_t best = parts_for(direct(), p, {});
  for (int64_t parts : possible_parts(direct(), p))
    EXPECT_LE(split_cost_of(direct(), best, p, {}).value, split_cost_of(direct(), parts, p, {}).value) << parts;
  EXPECT_EQ(cost_of(direct(), nullptr, p, {}).value, split_cost_of(direct(), best, p, {}).value);
}

TEST(DispatchSplit, PinsHaveTheNumberBehindAPlus) {
  const std::string name = direct_name;
  EXPECT_EQ(pinned(small(1, 24), name + "+6"), name + "+6");
  EXPECT_EQ(pinned(small(1, 24), name + "+1"), name + "+1");
  EXPECT_EQ(pinned(small(1, 256, 1), name), name + "+8");
  EXPECT_THAT(pinned(small(1, 24), name + "+5"),
              HasSubstr("it was asked for 5 parts, and takes divisors of its 12 steps of 2 channels up to 64"));
  for (const char *wrong : {"+", "+x", "+2x", "+99999999999999999999"})
    EXPECT_THAT(pinned(small(1, 24), name + wrong), HasSubstr("is no number of parts")) << wrong;
  EXPECT_THAT(pinned(small(1, 24), name + "+0"), HasSubstr("asked for 0 parts"));
  EXPECT_THAT(pinned(small(1, 24), name + "+-2"), HasSubstr("asked for -2 parts"));
  EXPECT_THAT(pinned(small(1, 24), "conv2d_direct_f32_oc32x64_cuda+2"), HasSubstr("no compiled convolution variant"));
}

TEST(DispatchSplit, TunedEntriesNameTheNumberToo) {
  const std::string name = direct_name;
  const std::string key = "sm_90 f32 fp32 nchw 1,24,16,16,9,9,24,0,0,0,0 -> ";
  const auto with = [&](const std::string &variant) {
    Environment environment;
    environment.ask_tuned = true;
    TunedTable table;
    environment.tuned_fault = parse_tuned_table(key + variant + " ms=0.01 date=2026-12-02 runs=9\n", "t.txt", &table);
    environment.tuned = std::make_shared<TunedTable>(table);
    return environment;
  };
  EXPECT_EQ(chosen(small(1, 24), {}, with(name + "+3")), name + "+3");
  EXPECT_THAT(chosen(small(1, 24), {}, with(name + "+0")), HasSubstr("of a split variant with a '+'"));
  EXPECT_THAT(chosen(small(1, 24), {}, with(name + "+")), HasSubstr("of a split variant with a '+'"));
  // A near problem whose steps do not divide passes the entry over.
  Choice choice;
  ASSERT_EQ(choose(small(1, 26), {}, with(name + "+3"), &choice), HCONV_OK);
  ASSERT_EQ(choice.tuned.skipped.size(), 1u);
  EXPECT_THAT(choice.tuned.skipped[0].reason, HasSubstr("it was asked for 3 parts"));
}

TEST(DispatchSplit, PartsCountInWorkspaceAndLaunches) {
  const hconv_problem p = small(3, 24, 3); // 576 outputs an image
  EXPECT_EQ(workspace_of(p, direct(), nullptr, 4).full, 3 * 576 * 4 * 4);
  EXPECT_EQ(workspace_of(p, direct(), nullptr, 4).minimum, 3 * 576 * 4 * 4);
  Geometry g = geometry_of(p);
  EXPECT_EQ(launch_batch(g, {}, 0), ((1 << 30) - 1) / g.x_image);
  EXPECT_EQ(launch_batch(g, {}, 64), ((1 << 30) - 1) / (64 * 576));
  hconv_problem empty = p;
  empty.batch = 0;
  EXPECT_EQ(workspace_of(empty, direct(), nullptr, 4).full, 0);
}

} // namespace
