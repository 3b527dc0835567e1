// Which transform variant and which product kernel are chosen, and why not.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "runtime/transform.h"
#include "runtime/validation.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using testing::HasSubstr;

constexpr const char *square = "conv2d_transform_f32_fft32x32_cuda", *flat = "conv2d_transform_f32_fft16x32_cuda",
                     *narrow = "spectral_product_f32_oc32x16_cuda", *wide = "spectral_product_f32_oc64x64_cuda";

struct Chosen {
  std::string variant, product;
};

Chosen chosen(const hconv_problem &p, const Machine &machine = {}, const Environment &environment = {}) {
  EXPECT_EQ(check_problem(&p), HCONV_OK) << last_error();
  Choice choice;
  const hconv_status status = choose(p, machine, environment, &choice);
  if (status)
    return {std::string(hconv_status_text(status)) + ": " + last_error(), ""};
  EXPECT_EQ(choice.product != nullptr, choice.variant->algorithm == Algorithm::transform);
  EXPECT_EQ(choice.pack == nullptr, choice.product != nullptr);
  return {choice.variant->name, choice.product ? choice.product->name : ""};
}

std::string reason(const hconv_problem &p, const char *name) {
  return why_not(*find_variant(name), p, {}, "");
}

TEST(DispatchOfTransforms, LargeKernelsTakeThem) {
  EXPECT_EQ(chosen(square_problem(cuda0, 2, 128, 256, 16, 16)).variant,
            square); // 289 outputs of a tile, 256 products each
  EXPECT_EQ(chosen(square_problem(cuda0, 4, 64, 128, 8, 8)).variant, "conv2d_direct_f32_oc64x128_cuda");
  EXPECT_EQ(chosen(square_problem(cuda0, 2, 128, 256, 32, 32)).variant,
            "conv2d_direct_f32_oc64x128_cuda"); // one output a tile
}

TEST(DispatchOfTransforms, LowImagesTakeLowTiles) {
  hconv_problem p = square_problem(cuda0, 8, 64, 256, 8, 16); // rows of 15 x 17 outputs of 512 or 1024 pixels
  const auto cost = [&p](const char *name) { return cost_of(*find_variant(name), find_variant(wide), p, {}).value; };
  EXPECT_LT(cost(square), cost(flat));
  p.height = 16;
  EXPECT_LT(cost(flat), cost(square));
}

TEST(DispatchOfTransforms, TheProductIsChosenByWhatItComputesInVain) {
  EXPECT_EQ(chosen(square_problem(cuda0, 2, 128, 256, 16, 16)).product, wide); // 450 tiles
  Environment pin;
  pin.variant = square;
  EXPECT_EQ(chosen(square_problem(cuda0, 1, 16, 40, 16, 16), {}, pin).product, narrow); // 4 tiles, 16 channels
  pin.variant = std::string(square) + "+" + wide;
  EXPECT_EQ(chosen(square_problem(cuda0, 1, 16, 40, 16, 16), {}, pin).product, wide);
}

TEST(DispatchOfTransforms, StrictMathNeverTakesThem) {
  hconv_problem p = square_problem(cuda0, 2, 128, 256, 16, 16);
  p.math = HCONV_MATH_STRICT;
  EXPECT_EQ(chosen(p).variant, "conv2d_direct_f32_oc64x128_cuda");
  EXPECT_EQ(reason(p, square), "it computes in the transform domain, and HCONV_MATH_STRICT asks for float32 "
                               "multiply-adds of x and w only");
  Environment pin;
  pin.variant = square;
  EXPECT_THAT(chosen(p, {}, pin).variant,
              HasSubstr("unsupported: HCONV_VARIANT pins conv2d_transform_f32_fft32x32_cuda, "
                        "which cannot serve"));
  p.math = HCONV_MATH_TF32;
  EXPECT_EQ(chosen(p).variant, square);
}

TEST(DispatchOfTransforms, AKernelMustFitIntoATile) {
  const hconv_problem p = square_problem(cuda0, 2, 128, 256, 17, 32);
  EXPECT_EQ(reason(p, flat), "its tiles have 16 x 32 pixels, and the kernel 17 x 32");
  EXPECT_EQ(reason(p, square), "");
  EXPECT_EQ(reason(square_problem(cuda0, 2, 128, 256, 16, 32), flat), "");
  EXPECT_THAT(reason(square_problem(cuda0, 2, 128, 256, 5, 33), square),
              HasSubstr("32 x 32 pixels, and the kernel 5 x 33"));
}

TEST(DispatchOfTransforms, SpectraMustBeIndexable) {
  hconv_problem p = square_problem(cuda0, 1, 2048, 40, 5, 5); // 514 x 2 x 2048 x 2048 numbers
  EXPECT_EQ(reason(p, square),
            "spectral_product_f32_oc32x16_cuda declines since its weights' spectrum would have extents "
            "[514, 2048, 2, 2048], 2^31 numbers or more");
  p = square_problem(cuda0, 1, 1, 40, 1, 1);
  p.out_channels = 70000;
  EXPECT_THAT(reason(p, flat), HasSubstr("there are 70016 channels, more than 65535"));
  p.out_channels = 65536;
  p.in_channels = 1;
  EXPECT_THAT(reason(p, square), HasSubstr("there are 65536 channels, more than 65535"));
}

TEST(DispatchOfTransforms, LongSumsWantBlocks) {
  EXPECT_EQ(reason(square_problem(cuda0, 1, 384, 40, 5, 5), square), "");
  EXPECT_EQ(
      reason(square_problem(cuda0, 1, 385, 40, 5, 5), square),
      "spectral_product_f32_oc32x16_cuda declines since it adds up all channels in one chain, at most 384, and IC "
      "is 385");
}

TEST(DispatchOfTransforms, PinsAreChecked) {
  const hconv_problem p = square_problem(cuda0, 2, 128, 256, 16, 16);
  Environment pin;
  for (const char *name : {"conv2d_direct_f32_oc64x64_cuda+spectral_product_f32_oc64x64_cuda",
                           "spectral_product_f32_oc64x64_cuda", "conv2d_transform_f32_fft32x32_cuda_input"}) {
    pin.variant = name;
    EXPECT_THAT(chosen(p, {}, pin).variant, HasSubstr("which is no compiled convolution variant")) << name;
  }
  pin.variant = std::string(square) + "+pack_b32_cuda";
  EXPECT_THAT(
      chosen(p, {}, pin).variant,
      HasSubstr("HCONV_VARIANT names the product 'pack_b32_cuda', which is no compiled spectral_product variant"));
  pin.variant = std::string(square) + "+spectral_product_f32_oc8x4_cpu_avx2";
  EXPECT_THAT(chosen(p, {}, pin).variant, HasSubstr("it runs on cpu_avx2, and the transforms on cuda"));
}

TEST(DispatchOfTransforms, CostIsTheSumOfItsPhases) {
  // 2 images of 241 x 241 outputs, tiles of 17 x 17 outputs: 450 tiles in one chunk of 512.
  const hconv_problem p = square_problem(cuda0, 2, 128, 256, 16, 16);
  const Cost cost = cost_of(*find_variant(square), find_variant(wide), p, {});
  const TransformSpeeds s = transform_speeds();
  EXPECT_EQ(cost.blocks, 514 * 2 * 8); // frequencies, tiles of OC, tiles of 64 tiles
  EXPECT_EQ(cost.waves, 32);           // of 132 x 2 blocks
  const double spectra = 512.0 * 128 * 514 * 2 * 4, share = 0.5, latency = 4000; // of the tables' line for 32
  const double input = (2 * 128 * 256 * 256 * 4.0 + spectra) / s.memory_bytes / 132 / share;
  EXPECT_DOUBLE_EQ(cost.input, s.nanosecond * (input + latency));
  const double output = (2 * 128 * 241 * 241 * 4.0 + spectra) / s.memory_bytes / 132 / share;
  EXPECT_DOUBLE_EQ(cost.output, s.nanosecond * (output + latency));
  EXPECT_DOUBLE_EQ(cost.product, turns_of(8224, 2, {}).blocks * 4.0 * 64 * 64 * 128 / 0.045);
  EXPECT_DOUBLE_EQ(cost.launches, s.nanosecond * s.launch * 2);
  EXPECT_DOUBLE_EQ(cost.value, cost.input + cost.product + cost.output + cost.launches);
}

TEST(DispatchOfTransforms, TilesOfEachShapeHaveASpeed) {
  const hconv_problem p = square_problem(cuda0, 2, 128, 256, 16, 16);
  const TransformSpeeds s = transform_speeds();
  // Of 16 x 32: 241 x 15 tiles an image, 7230 in 7 chunks of whole groups.
  const Cost cost = cost_of(*find_variant(flat), find_variant(wide), p, {});
  const double tiles = 64 * std::ceil(7230 / 64.0), spectra = tiles * 128 * 258 * 2 * 4, share = 0.8, latency = 2000;
  const TransformLayout l = transform_layout(p, *find_variant(flat), *find_variant(wide));
  const double chunks = std::ceil(7230.0 / static_cast<double>(full_chunk(p, l)));
  const double input = (2 * 128 * 256 * 256 * 4.0 + spectra) / s.memory_bytes / 132 / share;
  EXPECT_DOUBLE_EQ(cost.input, s.nanosecond * (input + latency * chunks));
}

TEST(DispatchOfTransforms, ASmallWorkingSetMovesAtTheSpeedOfTheCache) {
  const hconv_problem p =
      square_problem(cuda0, 1, 8, 20, 3, 3); // X of 16 tiles 0.5 MB, Y and W with 32 channels 2.1 and 1.1
  const Cost cost = cost_of(*find_variant(square), find_variant(narrow), p, {});
  const TransformSpeeds s = transform_speeds();
  const double bytes = 514.0 * 2 * 4 * (16 * 8 + 16 * 32 + 8 * 32);
  ASSERT_LT(bytes, s.cached);
  const double moving = (514.0 * 2 * 4 * 16 * 32 + 8 * 18 * 18 * 4.0) / (132 * s.cache_bytes);
  EXPECT_DOUBLE_EQ(cost.output, s.nanosecond * (moving / 0.5 + 4000));
}

TEST(DispatchOfTransforms, OnTheCpuTheCheapestOfTheBestTarget) {
  Machine avx2;
  avx2.avx2 = true;
  EXPECT_EQ(chosen(square_problem(cpu, 1, 64, 128, 16, 16), avx2).variant, "conv2d_transform_f32_fft32x32_cpu_avx2");
  EXPECT_EQ(chosen(square_problem(cpu, 1, 64, 128, 16, 16), avx2).product, "spectral_product_f32_oc8x4_cpu_avx2");
  EXPECT_EQ(chosen(square_problem(cpu, 1, 64, 128, 3, 3), avx2).variant, "conv2d_direct_f32_oc16x8_cpu_avx2");
  EXPECT_EQ(chosen(square_problem(cpu, 1, 64, 128, 16, 16)).variant, "conv2d_direct_f32_oc8x8_cpu_baseline");
  avx2.avx512 = true; // its target has no transforms
  EXPECT_EQ(chosen(square_problem(cpu, 1, 64, 128, 16, 16), avx2).variant, "conv2d_direct_f32_oc32x8_cpu_avx512");
}

TEST(DispatchOfTransforms, OnTheCpuTheSameRules) {
  Machine avx2;
  avx2.avx2 = true;
  hconv_problem p = square_problem(cpu, 1, 64, 128, 16, 16);
  const char *name = "conv2d_transform_f32_fft32x32_cpu_avx2";
  p.math = HCONV_MATH_STRICT;
  EXPECT_EQ(chosen(p, avx2).variant, "conv2d_direct_f32_oc16x8_cpu_avx2");
  EXPECT_THAT(why_not(*find_variant(name), p, avx2, ""), HasSubstr("HCONV_MATH_STRICT asks for float32"));
  Environment pin;
  pin.variant = name;
  EXPECT_THAT(chosen(p, avx2, pin).variant, HasSubstr("which cannot serve"));
  EXPECT_THAT(why_not(*find_variant(name), square_problem(cpu, 1, 385, 128, 16, 16), avx2, ""),
              HasSubstr("spectral_product_f32_oc8x4_cpu_avx2 declines since it adds up all channels in one chain"));
}

} // namespace
