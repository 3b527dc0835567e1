// Which variant is chosen for which shape, by name, on pretended machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "runtime/validation.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using testing::HasSubstr;

hconv_problem problem(DLDevice device, int64_t batch, int64_t channels, int64_t size, int64_t kernel,
                      DLDataType dtype = float32) {
  return square_problem(device, batch, channels, size, kernel, kernel, dtype);
}

std::string chosen(const hconv_problem &p, const Machine &machine = {}, const Environment &environment = {}) {
  EXPECT_EQ(check_problem(&p), HCONV_OK) << last_error();
  Choice choice;
  const hconv_status status = choose(p, machine, environment, &choice);
  return status ? std::string(hconv_status_text(status)) + ": " + last_error() : choice.variant->name;
}

std::string reason(const hconv_problem &p, const char *name, const Machine &machine = {},
                   const Environment &environment = {}) {
  Choice choice;
  if (choose(p, machine, environment, &choice))
    return std::string("nothing chosen: ") + last_error();
  for (const Declined &d : choice.declined)
    if (std::string(d.variant->name) == name)
      return d.reason;
  return "not declined";
}

TEST(DispatchOnCuda, BySize) {
  // B, C, H = W, K; rows of H - K + 1 outputs
  EXPECT_EQ(chosen(problem(cuda0, 4, 64, 128, 8)), "conv2d_direct_f32_oc64x128_cuda");
  EXPECT_EQ(chosen(problem(cuda0, 1, 128, 256, 32)), "conv2d_direct_f32_oc64x128_cuda");
  EXPECT_EQ(chosen(problem(cuda0, 32, 64, 58, 4)), "conv2d_direct_f32_oc64x64_cuda");
  EXPECT_EQ(chosen(problem(cuda0, 32, 512, 9, 2)), "conv2d_direct_f32_oc64x32_cuda");
  EXPECT_EQ(chosen(problem(cuda0, 1, 16, 32, 1)), "conv2d_direct_f32_oc32x64_cuda");
  EXPECT_EQ(chosen(problem(cuda0, 2, 32, 256, 5)), "conv2d_direct_f32_oc32x128_cuda");
  EXPECT_EQ(chosen(problem(cuda0, 1, 64, 64, 8)), "conv2d_direct_f32_oc32x64_cuda"); // 57 blocks of 64x64
}

TEST(DispatchOnCuda, AFixedKernelWidthServesOnlyThatWidth) {
  EXPECT_EQ(chosen(problem(cuda0, 32, 64, 58, 3)), "conv2d_direct_f32_oc64x64_kw3_cuda");
  hconv_problem p = problem(cuda0, 32, 64, 58, 3);
  p.kernel_width = 5;
  EXPECT_EQ(chosen(p), "conv2d_direct_f32_oc64x64_cuda");
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc64x64_kw3_cuda"), "it is made for KW that is a multiple of 3, and KW is 5");
}

TEST(DispatchOnCuda, FewerBlocksThanMultiprocessorsPreferTheSmallerTile) {
  const hconv_problem p = problem(cuda0, 1, 64, 64, 8); // rows of 57: 57 blocks of 64x64, 114 of 32x64
  Machine machine;
  for (const auto &[multiprocessors, name] :
       {std::pair<int, const char *>{132, "oc32x64"}, {114, "oc32x64"}, {16, "oc64x64"}, {1, "oc64x64"}}) {
    machine.multiprocessors = multiprocessors;
    EXPECT_EQ(chosen(p, machine), std::string("conv2d_direct_f32_") + name + "_cuda") << multiprocessors;
  }
}

TEST(DispatchOnCuda, TensorCoresServe16BitTypesUnlessStrict) {
  hconv_problem p = problem(cuda0, 4, 64, 128, 8, bfloat16);
  for (hconv_math math : {HCONV_MATH_FP32, HCONV_MATH_TF32}) {
    p.math = math;
    EXPECT_EQ(chosen(p), "conv2d_mma_bf16_oc64x64_cuda");
  }
  p.math = HCONV_MATH_STRICT;
  EXPECT_EQ(chosen(p), "conv2d_direct_bf16_oc32x64_cuda");
  EXPECT_EQ(reason(p, "conv2d_mma_bf16_oc64x64_cuda"),
            "it sums on tensor cores, and HCONV_MATH_STRICT asks for float32 multiply-adds only");
  Environment pin;
  pin.variant = "conv2d_mma_bf16_oc64x64_cuda";
  EXPECT_THAT(chosen(p, {}, pin), HasSubstr("unsupported: HCONV_VARIANT pins conv2d_mma_bf16_oc64x64_cuda, which "
                                            "cannot serve"));
  p.math = HCONV_MATH_FP32;
  p.in_channels = p.out_channels = 128;
  EXPECT_EQ(chosen(p), "conv2d_mma_bf16_oc128x128_cuda");
}

TEST(DispatchOnCuda, OneComputeCapabilityMultipliesByWarpgroups) {
  hconv_problem p = problem(cuda0, 4, 64, 128, 7, bfloat16);
  EXPECT_EQ(chosen(p), "conv2d_wgmma_bf16_oc64x64_cuda");
  for (const auto &[capability, text] : {std::pair<int, const char *>{80, "8.0"}, {89, "8.9"}, {100, "10.0"}}) {
    Machine other;
    other.capability = capability;
    EXPECT_EQ(chosen(p, other), "conv2d_mma_bf16_oc64x64_cuda");
    EXPECT_EQ(reason(p, "conv2d_wgmma_bf16_oc64x64_cuda", other),
              std::string("it is machine code for compute capability 9.0 alone, and the device has ") + text);
  }
  p.math = HCONV_MATH_STRICT;
  EXPECT_EQ(reason(p, "conv2d_wgmma_bf16_oc64x64_cuda"),
            "it sums on tensor cores, and HCONV_MATH_STRICT asks for float32 multiply-adds only");
}

TEST(DispatchOnCuda, TensorCoresNeedAPackedInputThatCanBeIndexed) {
  hconv_problem p = problem(cuda0, 1, 1, 12000, 1, bfloat16); // 16 channels for each of its own
  EXPECT_EQ(reason(p, "conv2d_mma_bf16_oc64x64_cuda"),
            "its packed input would have [12000, 12000, 16] elements an image, 2^31 or more");
  p.height = 11000;
  EXPECT_EQ(chosen(p), "conv2d_mma_bf16_oc64x64_cuda");
  p.padding.bottom = 1000;
  EXPECT_THAT(reason(p, "conv2d_mma_bf16_oc64x64_cuda"), HasSubstr("its packed input would have [12000, 12000, 16]"));
}

TEST(DispatchOnCuda, CostCountsWavesOfWholeTiles) {
  // 2 images of 57 x 57 outputs in 64x64 tiles: 114 blocks, 1 wave of 132 or 8 waves of 16.
  const Variant &tile = *find_variant("conv2d_direct_f32_oc64x64_cuda");
  const double products = 64.0 * 64 * 64 * 8 * 8; // of a block; 60 channels are padded to 64
  hconv_problem p = problem(cuda0, 2, 60, 64, 8);
  Machine machine;
  Cost cost = cost_of(tile, nullptr, p, machine);
  EXPECT_EQ(cost.blocks, 114);
  EXPECT_EQ(cost.waves, 1);
  EXPECT_DOUBLE_EQ(cost.value, products / 0.9);
  machine.multiprocessors = 16;
  cost = cost_of(tile, nullptr, p, machine);
  EXPECT_EQ(cost.waves, 8);
  EXPECT_DOUBLE_EQ(cost.value, 8 * products / 0.9);

  // Two blocks at once on a multiprocessor: half the waves, each twice as long; less so where it holds one alone.
  p.dtype = bfloat16;
  cost = cost_of(*find_variant("conv2d_mma_bf16_oc64x64_cuda"), nullptr, p, machine);
  EXPECT_EQ(cost.waves, 4);
  EXPECT_DOUBLE_EQ(cost.value, 4 * 2 * products / 4.2);
  machine.multiprocessors = 114;
  EXPECT_DOUBLE_EQ(cost_of(*find_variant("conv2d_mma_bf16_oc64x64_cuda"), nullptr, p, machine).value,
                   std::sqrt(2.0) * products / 4.2);

  p.batch = 0;
  EXPECT_EQ(cost_of(tile, nullptr, p, machine).blocks, 57);
  p.batch = INT64_MAX / 8;
  EXPECT_EQ(cost_of(tile, nullptr, p, machine).blocks, INT64_MAX);
}

TEST(DispatchOnCuda, StoresOf8NeighboursDependOnWhereRowsStart) {
  Variant v = *find_variant("conv2d_wgmma_bf16_oc64x64_cuda");
  EXPECT_EQ(stores_of_8(v, 7), 1) << "2 bytes a lane: the hardware joins them";
  v.store_bytes = 16;
  EXPECT_EQ(stores_of_8(v, 56), 1);
  EXPECT_DOUBLE_EQ(stores_of_8(v, 60), (7 * 1.5 + 4) * 8 / 60) << "every second row starts at 8 bytes, 4 are left over";
  EXPECT_DOUBLE_EQ(stores_of_8(v, 14), (0.25 * 1 + 0.25 * 2 + 0.5 * 4 + 6) * 8 / 14);
  EXPECT_DOUBLE_EQ(stores_of_8(v, 9), (0.125 * (1 + 2) + 0.25 * 4 + 0.5 * 5 + 1) * 8 / 9);
  EXPECT_DOUBLE_EQ(stores_of_8(v, 7), 8) << "one by one";
  v.layout = HCONV_LAYOUT_NHWC;
  EXPECT_EQ(stores_of_8(v, 7), 1) << "8 channels";
}

TEST(DispatchOnCuda, CostOfSumsAloneAddsPackingStoresAndLaunches) {
  // 64 channels, 1 x 64 outputs of 1 x 70 pixels in 64 x 64 tiles: one block of one multiprocessor.
  Variant v = *find_variant("conv2d_wgmma_bf16_oc64x64_cuda");
  hconv_problem p = problem(cuda0, 1, 64, 70, 1, bfloat16);
  p.height = 1;
  p.kernel_width = 7;
  Machine machine;
  machine.multiprocessors = 1;
  machine.shared_bytes_per_block = 0;
  const double nanosecond = 100, pieces = 64 * 64 / 8;
  Cost cost = cost_of(v, nullptr, p, machine);
  EXPECT_EQ(cost.blocks, 1);
  const double turns = std::sqrt(2.0); // of two that a multiprocessor holds
  EXPECT_DOUBLE_EQ(cost.product, turns * 64 * 64 * 64 * 7 / 9);
  EXPECT_DOUBLE_EQ(cost.input, nanosecond * 2 * 64 * 70 * 2 / 10);
  EXPECT_DOUBLE_EQ(cost.output, nanosecond * turns * pieces * 2);
  EXPECT_DOUBLE_EQ(cost.launches, nanosecond * 1000);
  EXPECT_DOUBLE_EQ(cost.value, cost.product + cost.input + cost.output + cost.launches);

  v.store_bytes = 16;
  EXPECT_DOUBLE_EQ(cost_of(v, nullptr, p, machine).output, nanosecond * turns * pieces);
  p.width = 66; // 60 columns
  const double stores = stores_of_8(v, 60);
  EXPECT_DOUBLE_EQ(cost_of(v, nullptr, p, machine).output,
                   nanosecond * turns * pieces * 60 / 64 * (1 + 0.5 * (stores - 1)));

  p.layout = HCONV_LAYOUT_NHWC;
  v.layout = HCONV_LAYOUT_NHWC; // reads x itself
  cost = cost_of(v, nullptr, p, machine);
  EXPECT_EQ(cost.input, 0);
  EXPECT_DOUBLE_EQ(cost.output, nanosecond * turns * pieces * 60 / 64);
  EXPECT_EQ(cost.launches, 0);
}

TEST(DispatchOnCuda, NamesTheRunnerUp) {
  const hconv_problem p = problem(cuda0, 4, 64, 128, 8);
  Choice choice;
  ASSERT_EQ(choose(p, {}, {}, &choice), HCONV_OK);
  EXPECT_EQ(choice.source, "the least cost");
  ASSERT_NE(choice.runner_up, nullptr);
  EXPECT_STREQ(choice.runner_up->name, "conv2d_direct_f32_oc64x64_cuda");
  EXPECT_LT(choice.cost.value, choice.runner_up_cost.value);
  for (const Variant &v : variants())
    if (v.algorithm == Algorithm::direct && v.target == Target::cuda && v.type == Type::f32 && v.kw == 0) {
      EXPECT_GE(cost_of(v, nullptr, p, {}).value, choice.cost.value) << v.name;
    }
  Environment pin;
  pin.variant = "conv2d_direct_f32_oc32x64_cuda";
  ASSERT_EQ(choose(p, {}, pin, &choice), HCONV_OK);
  EXPECT_STREQ(choice.runner_up->name, "conv2d_direct_f32_oc64x128_cuda");
  EXPECT_GT(choice.cost.value, choice.runner_up_cost.value);
}

TEST(DispatchOnCuda, ByType) {
  EXPECT_EQ(chosen(problem(cuda0, 1, 3, 16, 3, bfloat16)), "conv2d_direct_bf16_oc32x64_cuda"); // 3 of 16 channels
  EXPECT_EQ(chosen(problem(cuda0, 4, 64, 128, 8, float16)), "conv2d_direct_f16_oc32x64_cuda");
}

TEST(DispatchOnCuda, OtherDevicesChooseTheSame) {
  EXPECT_EQ(chosen(problem(cuda1, 4, 64, 128, 8)), "conv2d_direct_f32_oc64x128_cuda");
}

TEST(DispatchOnCuda, SharedMemoryOfTheDevice) {
  Machine small;
  small.shared_bytes_per_block = 65536;
  const hconv_problem p = problem(cuda0, 4, 64, 128, 8);
  EXPECT_EQ(chosen(p, small), "conv2d_direct_f32_oc64x64_cuda");
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc64x128_cuda", small),
            "it needs 90112 bytes of shared memory, and the device has 65536 a block");
}

TEST(DispatchOnCpu, ByProcessor) {
  const hconv_problem p = problem(cpu, 4, 64, 32, 3);
  Machine old, avx2, avx512;
  avx2.avx2 = avx512.avx2 = avx512.avx512 = true;
  EXPECT_EQ(chosen(p, old), "conv2d_direct_f32_oc8x8_cpu_baseline");
  EXPECT_EQ(chosen(p, avx2), "conv2d_direct_f32_oc16x8_cpu_avx2");
  EXPECT_EQ(chosen(p, avx512), "conv2d_direct_f32_oc32x8_cpu_avx512");
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc32x8_cpu_avx512", avx2), "the processor lacks AVX-512 (F, CD, BW, DQ, VL)");
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc16x8_cpu_avx2", old), "the processor lacks AVX2, FMA or F16C");
}

TEST(Dispatch, EveryOtherVariantHasAReason) {
  Machine machine;
  machine.avx2 = true;
  Choice choice;
  ASSERT_EQ(choose(problem(cpu, 4, 64, 32, 3), machine, {}, &choice), HCONV_OK);
  size_t convolutions = 0;
  for (const Variant &v : variants())
    convolutions += is_convolution(v.algorithm);
  EXPECT_EQ(choice.declined.size(), convolutions - 1);
  for (const Declined &d : choice.declined) {
    EXPECT_FALSE(d.reason.empty()) << d.variant->name;
    EXPECT_NE(d.variant, choice.variant);
  }
  EXPECT_EQ(reason(problem(cpu, 4, 64, 32, 3), "conv2d_direct_f32_oc64x64_cuda"),
            "it runs on CUDA, and the tensors are on cpu");
  EXPECT_EQ(reason(problem(cuda0, 4, 64, 32, 3), "conv2d_direct_bf16_oc32x64_cuda"),
            "it computes in bf16, and the tensors are float32");
  EXPECT_THAT(reason(problem(cuda0, 4, 64, 32, 3), "conv2d_direct_f32_oc32x64_cuda"),
              HasSubstr("it could serve, but another one comes first: the least cost (its cost is "));
}

TEST(Dispatch, GridLimits) {
  const auto why = [](const char *name, const hconv_problem &p) { return why_not(*find_variant(name), p, {}, ""); };
  hconv_problem p = problem(cuda0, 1, 1, 4, 1);
  p.height = 1;
  p.width = 33 * 65535;
  EXPECT_EQ(why("conv2d_direct_f32_oc64x32_cuda", p), "OW = 2162655 needs more than 65535 tiles");
  EXPECT_EQ(why("conv2d_direct_f32_oc64x64_cuda", p), "");
  p.dtype = bfloat16;
  EXPECT_EQ(why("conv2d_mma_bf16_oc64x64_cuda", p),
            "its kernel that packs x takes up to 2097120 columns and 2097120 channels, and they are 2162655 and 16");

  p = problem(cuda0, 1, 1, 4, 1);
  p.out_channels = 33 * 65535;
  EXPECT_EQ(why("conv2d_direct_f32_oc32x64_cuda", p), "OC = 2162655 needs more than 65535 tiles");
  EXPECT_EQ(why("conv2d_direct_f32_oc64x64_cuda", p),
            "its kernel that packs weights takes up to 524280 output channels and 2097120 taps, and they are 2162688 "
            "and 1");
  p.out_channels = 524280;
  EXPECT_EQ(why("conv2d_direct_f32_oc64x64_cuda", p).substr(0, 31), "its kernel that packs weights t"); // whole tiles
  p.out_channels = 524224;
  EXPECT_EQ(why("conv2d_direct_f32_oc64x64_cuda", p), "");
  p.height = p.width = 1;
  p.out_channels = 65 * 65535;
  EXPECT_EQ(chosen(p).substr(0, 67), "unsupported: No variant can compute float32 B1 IC1 OC4259775 H1 W1 ");
}

TEST(Dispatch, PinByEnvironment) {
  Environment pin;
  pin.variant = "conv2d_direct_f32_oc64x32_cuda";
  EXPECT_EQ(chosen(problem(cuda0, 4, 64, 128, 8), {}, pin), "conv2d_direct_f32_oc64x32_cuda");
  EXPECT_EQ(chosen(problem(cpu, 4, 64, 128, 8), {}, pin),
            "unsupported: HCONV_VARIANT pins conv2d_direct_f32_oc64x32_cuda, which cannot serve (float32 B4 IC64 OC64 "
            "H128 W128 KH8 KW8 pad 0,0,0,0 cpu fp32): it runs on CUDA, and the tensors are on cpu.");
  pin.variant = "conv2d_direct_f32_oc64x64_kw3_cuda";
  EXPECT_THAT(chosen(problem(cuda0, 4, 64, 128, 8), {}, pin),
              HasSubstr("pins conv2d_direct_f32_oc64x64_kw3_cuda, which cannot serve"));
  pin.variant = "nonsense";
  EXPECT_THAT(chosen(problem(cuda0, 4, 64, 128, 8), {}, pin),
              HasSubstr("invalid argument: HCONV_VARIANT is 'nonsense', which is no compiled convolution variant"));
  for (const char *helper : {"pack_b32_cuda", "pack_input_b16_cuda"}) {
    pin.variant = helper;
    EXPECT_THAT(chosen(problem(cuda0, 4, 64, 128, 8), {}, pin), HasSubstr("no compiled convolution variant"));
  }
}

TEST(Dispatch, BackendByEnvironment) {
  Environment stock;
  stock.backend = "halide_ptx";
  const hconv_problem p = problem(cuda0, 4, 64, 128, 8);
  EXPECT_EQ(chosen(p, {}, stock), "conv2d_direct_f32_oc32x64_halide_ptx");
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc64x128_cuda", {}, stock),
            "its back end is cuda, and HCONV_BACKEND asks for halide_ptx");
  EXPECT_THAT(chosen(problem(cuda0, 4, 64, 128, 8, bfloat16), {}, stock), HasSubstr("unsupported: No variant"));
  stock.backend = "vulkan";
  EXPECT_EQ(chosen(p, {}, stock), "invalid argument: HCONV_BACKEND is 'vulkan'; expected 'cuda' or 'halide_ptx'.");
}

TEST(Dispatch, PackKernelFollowsElementSizeAndDevice) {
  const auto pack_of = [](const hconv_problem &p) {
    Choice choice;
    return choose(p, {}, {}, &choice) ? std::string(last_error()) : choice.pack->name;
  };
  EXPECT_EQ(pack_of(problem(cuda0, 1, 8, 8, 1)), "pack_b32_cuda");
  EXPECT_EQ(pack_of(problem(cuda0, 1, 8, 8, 1, float16)), "pack_b16_cuda");
  EXPECT_EQ(pack_of(problem(cpu, 1, 8, 8, 1)), "pack_b32_cpu");
  EXPECT_EQ(pack_of(problem(cpu, 1, 8, 8, 1, bfloat16)), "pack_b16_cpu");
}

TEST(Dispatch, OnlyTensorCoresPackTheirInput) {
  Choice choice;
  ASSERT_EQ(choose(problem(cuda0, 4, 64, 128, 8, bfloat16), {}, {}, &choice), HCONV_OK);
  EXPECT_STREQ(choice.pack->name, "pack_b16_cuda");
  ASSERT_NE(choice.pack_input, nullptr);
  EXPECT_STREQ(choice.pack_input->name, "pack_input_b16_cuda");
  ASSERT_EQ(choose(problem(cuda0, 4, 64, 128, 8), {}, {}, &choice), HCONV_OK);
  EXPECT_EQ(choice.pack_input, nullptr);
}

} // namespace
