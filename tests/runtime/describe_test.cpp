// hconv_explain and hconv_list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "environment_guard.h"
#include "runtime/problem.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using nlohmann::json;
using testing::HasSubstr;

TEST(Explain, Json) {
  hconv_problem p = small_problem(cuda0);
  p.dtype = bfloat16;
  const json j = json::parse(explained(p, HCONV_JSON));
  EXPECT_EQ(j["problem"]["dtype"], "bfloat16");
  EXPECT_EQ(j["problem"]["output_height"], 4);
  EXPECT_EQ(j["flops"], 2.0 * 2 * 4 * 4 * 4 * 3 * 2 * 3);
  EXPECT_EQ(j["bytes"]["x"], 2 * 3 * 5 * 6 * 2);
  EXPECT_EQ(j["bytes"]["w"], 4 * 3 * 2 * 3 * 2);
  EXPECT_EQ(j["bytes"]["y"], 2 * 4 * 4 * 4 * 2);
  EXPECT_EQ(j["packed_bytes"], 32 * 3 * 2 * 8 * 2); // OC and IC rounded up to the tile
  EXPECT_EQ(j["workspace_bytes"], 0);
  EXPECT_EQ(j["variant"]["name"], "conv2d_direct_bf16_oc32x64_cuda");
  EXPECT_EQ(j["variant"]["parameters"]["tile_ow"], 64);
  EXPECT_EQ(j["source"], "the least cost");
  EXPECT_EQ(j["cost"]["blocks"], 2 * 4);
  EXPECT_EQ(j["cost"]["waves"], 1);
  EXPECT_EQ(j["runner_up"]["variant"], "conv2d_mma_bf16_oc64x64_cuda");
  EXPECT_GT(j["runner_up"]["value"], j["cost"]["value"]);
  EXPECT_DOUBLE_EQ(j["error_bound"]["relative_to_sum_of_absolute_products"], 19 * 0x1p-24);
  EXPECT_DOUBLE_EQ(j["error_bound"]["rounding_relative_to_result"], 0x1p-8);
  EXPECT_EQ(j["device"]["present"], false);
  EXPECT_GT(j["declined"].size(), 10u);
  for (const json &d : j["declined"])
    EXPECT_NE(d["reason"], "") << d;
}

TEST(Explain, TheWorkspaceAndCostOfTensorCores) {
  hconv_problem p = small_problem(cuda0);
  p.dtype = bfloat16;
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_mma_bf16_oc64x64_cuda");
  const json j = json::parse(explained(p, HCONV_JSON));
  EXPECT_EQ(j["variant"]["algorithm"], "mma");
  // 18 products and a bias, each cut thrice with an error of 2^-23.
  const double cut = std::pow(1 + 0x1p-23, 3 * 19) - 1;
  EXPECT_NEAR(j["error_bound"]["relative_to_sum_of_absolute_products"], cut, 1e-9 * cut);
  EXPECT_EQ(j["workspace_bytes"], 2048); // 2 x 5 x 6 x 16 of two bytes are 1920
  EXPECT_EQ(j["packed_bytes"], 64 * 2 * 3 * 16 * 2);
  EXPECT_EQ(j["runner_up"]["variant"], "conv2d_direct_bf16_oc32x64_cuda");
  const std::string content = explained(p, HCONV_TEXT);
  EXPECT_THAT(content, HasSubstr("12288 bytes of packed weights, 2048 bytes of workspace\n"));
  EXPECT_THAT(content, HasSubstr("error bound  |y - exact| <= 6.79e-06 * (sum of |x*w| + |bias|) + 0.00391 * |y|"));
  EXPECT_THAT(content, HasSubstr("; warp OC 32, OW 32; "));
  EXPECT_THAT(content, HasSubstr("(8 blocks in 1 waves, speed 4.2)\nrunner-up    conv2d_direct_bf16_oc32x64_cuda: "));
}

TEST(SumError, HoldsForEveryLength) {
  using hconv::runtime::Algorithm;
  using hconv::runtime::sum_error;
  EXPECT_EQ(sum_error(Algorithm::direct, 18).relative, 19 * 0x1p-24);
  EXPECT_EQ(sum_error(Algorithm::direct, 18).absolute, 19 * 0x1p-149);
  EXPECT_EQ(sum_error(Algorithm::mma, 18).absolute, 57 * 0x1p-149);
  // k u / (1 - k u), the usual form, would be negative here: 3 * 2^22 cuts of 2^-23 are more than 1.
  EXPECT_NEAR(sum_error(Algorithm::mma, (1 << 22) - 1).relative, std::exp(1.5) - 1, 1e-6);
}

TEST(Explain, TheTransformDomain) {
  hconv_problem p = small_problem(cuda0);
  p.batch = 7;
  p.height = p.width = 60; // 2 x 2 tiles, of 31 x 30 outputs
  p.padding.bottom = 3;
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_transform_f32_fft32x32_cuda+spectral_product_f32_oc32x16_cuda");
  const json j = json::parse(explained(p, HCONV_JSON));
  EXPECT_EQ(j["variant"]["algorithm"], "transform");
  EXPECT_EQ(j["variant"]["parameters"]["fft_h"], 32);
  EXPECT_EQ(j["product"]["name"], "spectral_product_f32_oc32x16_cuda");
  EXPECT_EQ(j["transform"], json::parse(R"({"tile": [32, 32], "step": [31, 30], "tiles_of_an_image": [2, 2],
                                            "frequencies": 514, "tiles": 28, "tiles_of_a_chunk": 32, "chunks": 1})"));
  EXPECT_EQ(j["packed_bytes"], 514 * 2 * 8 * 32 * 4);
  EXPECT_EQ(j["workspace_bytes"], 514 * 2 * (8 + 32) * 32 * 4);
  EXPECT_EQ(j["minimum_workspace_bytes"], 514 * 2 * (8 + 32) * 16 * 4);
  double phases = 0;
  for (const char *phase : {"input", "product", "output", "launches"})
    phases += j["cost"]["phases"][phase].get<double>();
  EXPECT_DOUBLE_EQ(j["cost"]["value"], phases);
  EXPECT_TRUE(j["error_bound"]["relative_to_sum_of_absolute_products"].is_null());
  // 12 levels of 5.6 units: twice there, and twice back, where two lines travel as one; the sums of 3 channels; the
  // bias.
  const double first_order = (4 * 67.2 + 2 * std::sqrt(2.0) * 3 + 1) * 0x1p-24;
  EXPECT_NEAR(j["error_bound"]["relative_to_norms_of_tile_and_filter"], first_order, 1e-4 * first_order);
  const std::string content = explained(p, HCONV_TEXT);
  EXPECT_THAT(content, HasSubstr(" bytes of workspace, at least 2631680\n"));
  EXPECT_THAT(content, HasSubstr("transform    tiles of 32 x 32 for 31 x 30 outputs, 2 x 2 an image; 514 frequencies\n"
                                 "chunks       1 of up to 32 tiles, for 28 tiles\n"
                                 "product      spectral_product_f32_oc32x16_cuda\n"));
  EXPECT_THAT(content,
              HasSubstr("error bound  |y - exact| <= 1.66e-05 * (|tile of x| * |filter|, 2-norms, + |bias|)\n"));
  EXPECT_THAT(content, HasSubstr(" = input "));
}

TEST(Explain, Text) {
  const std::string content = explained(small_problem(), HCONV_TEXT);
  EXPECT_THAT(content, HasSubstr("problem      float32 B2 IC3 OC4 H5 W6 KH2 KW3 pad 0,0,0,0 cpu fp32\n"));
  EXPECT_THAT(content, HasSubstr("output       2 x 4 x 4 x 4 (B, OC, OH, OW)\n"));
  EXPECT_THAT(content, HasSubstr("18 products in each sum"));
  EXPECT_THAT(content, HasSubstr("error bound  |y - exact| <= 1.13e-06 * (sum of |x*w| + |bias|)\n"));
  EXPECT_THAT(content, HasSubstr("  conv2d_direct_f32_oc64x64_cuda: it runs on CUDA, and the tensors are on cpu\n"));
}

TEST(Explain, BufferRules) {
  const hconv_problem p = small_problem();
  size_t size = 0;
  EXPECT_EQ(hconv_explain(&p, HCONV_TEXT, nullptr, &size), HCONV_INVALID_ARGUMENT);
  EXPECT_GT(size, 100u);
  EXPECT_EQ(std::string(hconv_last_error()),
            "*size is 0; expected at least " + std::to_string(size) + " bytes for the whole text.");
  std::string content(size, '?');
  size_t capacity = size;
  EXPECT_EQ(hconv_explain(&p, HCONV_TEXT, content.data(), &capacity), HCONV_OK);
  EXPECT_EQ(capacity, size);
  EXPECT_EQ(content.back(), '\0');

  char cut[12];
  std::memset(cut, '?', sizeof cut);
  capacity = 8;
  EXPECT_EQ(hconv_explain(&p, HCONV_TEXT, cut, &capacity), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(cut, "problem");
  EXPECT_EQ(cut[8], '?') << "wrote beyond the capacity";
  EXPECT_EQ(capacity, size);

  capacity = 5;
  EXPECT_EQ(hconv_explain(&p, HCONV_TEXT, nullptr, &capacity), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "text is null, but *size is 5; expected a buffer of that capacity, or 0.");
  EXPECT_EQ(hconv_explain(&p, HCONV_TEXT, nullptr, nullptr), HCONV_INVALID_ARGUMENT);
  EXPECT_EQ(hconv_explain(nullptr, HCONV_TEXT, nullptr, &size), HCONV_INVALID_ARGUMENT);
}

TEST(Explain, ARefusedProblemIsRefusedHereToo) {
  hconv_problem p = small_problem();
  p.height = 1;
  size_t size = 0;
  EXPECT_EQ(hconv_explain(&p, HCONV_TEXT, nullptr, &size), HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), HasSubstr("The output height OH would be 0"));
}

TEST(Explain, NamesThePin) {
  EnvironmentGuard pin("HCONV_VARIANT", "conv2d_direct_f32_oc8x8_cpu_baseline");
  EXPECT_THAT(explained(small_problem(), HCONV_TEXT), HasSubstr("chosen by    pinned by HCONV_VARIANT\n"));
}

TEST(List, HoldsEveryVariantWithItsResources) {
  size_t size = 0;
  hconv_list(HCONV_JSON, nullptr, &size);
  std::string content(size, '\0');
  ASSERT_EQ(hconv_list(HCONV_JSON, content.data(), &size), HCONV_OK);
  const json j = json::parse(content.c_str());
  ASSERT_EQ(j.size(), 40u);
  EXPECT_EQ(j[0]["name"], "pack_b32_cuda");
  EXPECT_EQ(j[4]["name"], "conv2d_direct_f32_oc32x64_cuda");
  EXPECT_EQ(j[4]["parameters"]["stages"], 3);
  ASSERT_EQ(j[4]["resources"].size(), 1u);
  EXPECT_EQ(j[4]["resources"][0]["registers"], 96);
  EXPECT_EQ(j[4]["resources"][0]["arch"], "90a");
  EXPECT_EQ(j[4]["resources"][0]["shared_bytes"], 24576);
  EXPECT_EQ(j[5]["resources"].size(), 0u);

  size = 0;
  hconv_list(HCONV_TEXT, nullptr, &size);
  content.assign(size, '\0');
  ASSERT_EQ(hconv_list(HCONV_TEXT, content.data(), &size), HCONV_OK);
  EXPECT_THAT(content, HasSubstr("fake_kernel on sm_90a: 96 registers, 0 bytes spilled, 24576 bytes of shared memory, "
                                 "128 threads\n"));
}

} // namespace
