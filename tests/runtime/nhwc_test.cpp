// Channels last (NHWC): how it is recognised, refused, chosen for, converted and kept apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "environment_guard.h"
#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "runtime/layout.h"
#include "runtime/plan_cache.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using testing::HasSubstr;
using testing::StartsWith;

hconv_problem nhwc(hconv_problem p) {
  p.layout = HCONV_LAYOUT_NHWC;
  return p;
}

/// small_problem with x, w and y channels last.
struct LastCase : Case {
  explicit LastCase(const hconv_problem &p) : Case(nhwc(p)), exact(expected(true)) {
    for (Tensor *t : {&x, &w, &y})
      make_channels_last(*t);
  }
  std::vector<double> row_major_y() {
    make_row_major(y);
    return found();
  }
  hconv_status convolve() {
    return hconv_conv2d(&x.dl, &w.dl, &bias.dl, &problem.padding, problem.math, &y.dl, nullptr);
  }
  std::vector<double> exact;
};

hconv_layout layout_of(Tensor &x) {
  Tensor w({4, x.shape[1], 1, 1});
  hconv_problem p;
  EXPECT_EQ(hconv_problem_from_tensors(&x.dl, &w.dl, nullptr, HCONV_MATH_FP32, &p), HCONV_OK) << hconv_last_error();
  return p.layout;
}

TEST(Nhwc, IsToldByTheStridesOfX) {
  Tensor x({2, 3, 5, 6});
  EXPECT_EQ(layout_of(x), HCONV_LAYOUT_NCHW);
  x.set_strides({90, 30, 6, 1});
  EXPECT_EQ(layout_of(x), HCONV_LAYOUT_NCHW);
  x.set_strides({90, 1, 18, 3});
  EXPECT_EQ(layout_of(x), HCONV_LAYOUT_NHWC);
  x.set_strides({90, 1, 3, 15}); // columns outside of rows
  EXPECT_EQ(layout_of(x), HCONV_LAYOUT_NCHW);
  Tensor one_image({1, 3, 5, 6});
  one_image.set_strides({-7, 1, 18, 3});
  EXPECT_EQ(layout_of(one_image), HCONV_LAYOUT_NHWC);
  Tensor gray({2, 1, 5, 6}), pixel({2, 3, 1, 1}), none({0, 3, 5, 6});
  gray.set_strides({30, 1, 6, 1}), pixel.set_strides({3, 1, 3, 3}), none.set_strides({90, 1, 18, 3});
  for (Tensor *either : {&gray, &pixel, &none})
    EXPECT_EQ(layout_of(*either), HCONV_LAYOUT_NCHW);
}

TEST(Nhwc, MustBeOneOfTwoLayouts) {
  hconv_problem p = small_problem();
  p.layout = static_cast<hconv_layout>(2);
  PlanHolder plan(p);
  EXPECT_EQ(plan.status, HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "problem.layout is 2; expected HCONV_LAYOUT_NCHW or HCONV_LAYOUT_NHWC.");
}

TEST(Nhwc, IsConvertedForVariantsOfNchwInTheWorkspace) {
  LastCase c(small_problem());
  PlanHolder plan(c.problem);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  const size_t bytes = 768 + 512; // of 2 x 90 and 2 x 64 float32
  EXPECT_EQ(hconv_plan_minimum_workspace_bytes(plan), bytes);
  Bytes packed(hconv_plan_packed_bytes(plan)), workspace(bytes);
  ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, workspace.data(), bytes - 1, nullptr),
            HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), StartsWith("workspace_bytes is 1279; expected at least 1280"));
  ASSERT_EQ(hconv_run(plan, &c.x.dl, packed.data(), &c.bias.dl, &c.y.dl, workspace.data(), bytes, nullptr), HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(c.row_major_y(), c.exact);
}

TEST(Nhwc, NeedsNoConversionWhereTheOrdersCoincide) {
  const Variant &direct = *find_variant("conv2d_direct_f32_oc8x8_cpu_baseline");
  hconv_problem p = nhwc(small_problem());
  p.in_channels = 1;
  EXPECT_EQ(conversion_of(p, direct).x, 0);
  EXPECT_EQ(conversion_of(p, direct).y, 512);
  p.in_channels = 3, p.out_channels = 1;
  EXPECT_EQ(conversion_of(p, direct).x, 768);
  EXPECT_EQ(conversion_of(p, direct).y, 0);
  p.out_channels = 4, p.height = p.width = p.kernel_height = p.kernel_width = 1;
  EXPECT_EQ(conversion_of(p, direct).bytes(), 0);
  p.layout = HCONV_LAYOUT_NCHW, p.height = 9;
  EXPECT_EQ(conversion_of(p, direct).bytes(), 0);
}

TEST(Nhwc, OneCallFollowsTheTensors) {
  clear_plan_cache();
  LastCase c(small_problem());
  ASSERT_EQ(c.convolve(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(c.row_major_y(), c.exact);
  Case rows(small_problem());
  ASSERT_EQ(hconv_conv2d(&rows.x.dl, &rows.w.dl, &rows.bias.dl, nullptr, HCONV_MATH_FP32, &rows.y.dl, nullptr),
            HCONV_OK);
  EXPECT_EQ(rows.found(), rows.expected(true));
  EXPECT_EQ(plan_cache_size(), 2u) << "the layout tells problems apart";
  hconv_problem gray = small_problem();
  gray.in_channels = 1; // then y alone has an order
  LastCase g(gray);
  ASSERT_EQ(g.convolve(), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(g.row_major_y(), g.exact);
}

TEST(Nhwc, MixedAndLooseTensorsAreRefusedByName) {
  const char *const x_is_nchw = "x is laid out as NCHW (row-major); expected NHWC (channels last), the layout of the "
                                "problem, for both x and y.";
  LastCase c(small_problem());
  make_row_major(c.y);
  EXPECT_EQ(c.convolve(), HCONV_UNSUPPORTED);
  EXPECT_STREQ(hconv_last_error(),
               "y is laid out as NCHW (row-major); expected NHWC (channels last), the layout of the "
               "problem, for both x and y.");
  make_channels_last(c.y);
  make_row_major(c.x);
  EXPECT_EQ(c.convolve(), HCONV_UNSUPPORTED);
  EXPECT_STREQ(hconv_last_error(),
               "y is laid out as NHWC (channels last); expected NCHW (row-major), the layout of the "
               "problem, for both x and y.");
  PlanHolder plan(c.problem);
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  EXPECT_EQ(hconv_run(plan, &c.x.dl, c.w.dl.data, nullptr, &c.y.dl, nullptr, 0, nullptr), HCONV_UNSUPPORTED);
  EXPECT_STREQ(hconv_last_error(), x_is_nchw);
  c.x.set_strides({180, 1, 36, 6}); // every other channel of six
  EXPECT_EQ(hconv_run(plan, &c.x.dl, c.w.dl.data, nullptr, &c.y.dl, nullptr, 0, nullptr), HCONV_UNSUPPORTED);
  EXPECT_STREQ(hconv_last_error(), "x is not dense: it has strides [180, 1, 36, 6]; expected [90, 1, 18, 3] (NHWC, "
                                   "channels last, in elements). Pass a dense copy.");
  c.w.set_strides({1, 4, 12, 24});
  EXPECT_EQ(hconv_pack(plan, &c.w.dl, c.y.dl.data, 1 << 20, nullptr), HCONV_UNSUPPORTED);
  EXPECT_THAT(hconv_last_error(),
              StartsWith("w is not contiguous: it has strides [1, 4, 12, 24]; expected [18, 6, 3, 1] "
                         "(row-major, in elements) or [18, 1, 9, 3] (channels last)."));
}

TEST(Nhwc, IsCheckedLikeNchw) {
  EnvironmentGuard check("HCONV_CHECK", "1");
  hconv_problem p = small_problem();
  p.padding = {1, 0, 2, 0};
  EXPECT_EQ(LastCase(p).convolve(), HCONV_OK) << hconv_last_error();
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_direct_f32_wrong_cpu_baseline");
  EXPECT_EQ(LastCase(p).convolve(), HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("computed y[0,0,0,1] = "));
}

Choice choice_of(const hconv_problem &p) {
  Choice choice;
  EXPECT_EQ(choose(p, {}, {}, &choice), HCONV_OK) << last_error();
  return choice;
}

std::string reason(const Choice &choice, const char *name) {
  for (const Declined &d : choice.declined)
    if (std::string(d.variant->name) == name)
      return d.reason;
  return "not declined";
}

TEST(NhwcDispatch, TensorCoresReadAndWriteItInPlace) {
  const char *const variant = "conv2d_mma_bf16_nhwc_oc64x64_cuda";
  hconv_problem p = nhwc(square_problem(cuda0, 4, 64, 128, 8, 8, bfloat16));
  p.padding = {1, 2, 3, 4};
  Choice choice = choice_of(p);
  EXPECT_STREQ(choice.variant->name, variant);
  EXPECT_EQ(choice.pack_input, nullptr);
  EXPECT_EQ(choice.transpose, nullptr);
  EXPECT_EQ(choice.cost.conversion, 0);
  EXPECT_EQ(workspace_of(p, *choice.variant, nullptr).full, 0);
  ASSERT_NE(choice.runner_up, nullptr);
  EXPECT_GT(choice.runner_up_cost.conversion, 0) << "the other way pays for moving x and y";

  p.in_channels = 61; // no multiple of 8: a copy with 64
  choice = choice_of(p);
  EXPECT_STREQ(choice.variant->name, variant);
  EXPECT_STREQ(choice.pack_input->name, "pack_input_b16_nhwc_cuda");
  const PackedInput input = packed_input(p, *choice.variant);
  EXPECT_EQ(std::vector<int64_t>({input.ic, input.width, input.height, input.image}),
            (std::vector<int64_t>{64, 128, 128, 64 * 128 * 128}));

  p.out_channels = 60;
  choice = choice_of(p);
  EXPECT_STREQ(choice.variant->name, "conv2d_mma_bf16_oc64x64_cuda");
  EXPECT_STREQ(choice.transpose->name, "transpose_b16_cuda");
  EXPECT_STREQ(choice.pack_input->name, "pack_input_b16_cuda");
  EXPECT_EQ(reason(choice, variant), "it writes 8 channels at once, and OC is 60");
  p.out_channels = 64, p.math = HCONV_MATH_STRICT;
  EXPECT_STREQ(choice_of(p).variant->name, "conv2d_direct_bf16_oc32x64_cuda");
}

// Behind a conversion, where they are so much faster that it pays.
TEST(NhwcDispatch, ItsVariantsServeNchwToo) {
  Environment environment;
  environment.variant = "conv2d_mma_bf16_nhwc_oc64x64_cuda";
  hconv_problem p = square_problem(cuda0, 2, 16, 5, 5, 5, bfloat16); // one output pixel
  Choice choice;
  ASSERT_EQ(choose(p, {}, environment, &choice), HCONV_OK) << last_error();
  EXPECT_EQ(choice.pack_input, nullptr);
  EXPECT_STREQ(choice.transpose->name, "transpose_b16_cuda");
  EXPECT_EQ(conversion_of(p, *choice.variant).x, 1792) << "1600 bytes, in whole 256s";
  EXPECT_EQ(conversion_of(p, *choice.variant).y, 256) << "the caller's y need not be aligned";
  p.out_channels = 12;
  EXPECT_NE(choose(p, {}, environment, &choice), HCONV_OK);
  EXPECT_THAT(last_error(), HasSubstr("it writes 8 channels at once, and OC is 12"));
}

TEST(NhwcDispatch, ATunedEntryHoldsForItsLayout) {
  const auto table = std::make_shared<TunedTable>();
  ASSERT_EQ(
      parse_tuned_table("sm_90a bf16 fp32 nhwc 4,64,128,128,8,8,64,0,0,0,0 -> conv2d_mma_bf16_oc64x64_cuda ms=0.5 "
                        "date=2026-12-02 runs=12\n",
                        "mine.txt", table.get()),
      "");
  EXPECT_THAT(key_of(table->entries[0]), HasSubstr(" nhwc "));
  Environment environment;
  environment.tuned = table;
  hconv_problem p = square_problem(cuda0, 4, 64, 128, 8, 8, bfloat16);
  for (const auto &[layout, how] : {std::pair<hconv_layout, Tuned::How>{HCONV_LAYOUT_NCHW, Tuned::How::heuristic},
                                    {HCONV_LAYOUT_NHWC, Tuned::How::exact}}) {
    p.layout = layout;
    Choice choice;
    ASSERT_EQ(choose(p, {}, environment, &choice), HCONV_OK);
    EXPECT_EQ(choice.tuned.how, how);
    EXPECT_STREQ(choice.variant->name, "conv2d_mma_bf16_oc64x64_cuda");
  }
}

TEST(NhwcExplain, TellsLayoutAndConversion) {
  const hconv_problem p = nhwc(small_problem());
  const auto j = nlohmann::json::parse(explained(p, HCONV_JSON));
  EXPECT_EQ(j["problem"]["layout"], "nhwc");
  EXPECT_EQ(j["conversion"]["x_bytes"], 768);
  EXPECT_EQ(j["conversion"]["y_bytes"], 512);
  EXPECT_EQ(j["conversion"]["kernel"], "transpose_b32_cpu");
  EXPECT_GE(j["minimum_workspace_bytes"], 768 + 512);
  EXPECT_THAT(explained(p, HCONV_TEXT),
              HasSubstr("conversion   between NHWC and the variant's NCHW, in the workspace: x "
                        "768 bytes, y 512 bytes\n"));
  EXPECT_THAT(explained(p, HCONV_TEXT), HasSubstr(" cpu fp32 nhwc\n"));
  EXPECT_TRUE(nlohmann::json::parse(explained(small_problem(), HCONV_JSON))["conversion"].is_null());
}

} // namespace
