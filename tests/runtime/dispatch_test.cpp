// Which variant is chosen for which shape, by name, on pretended machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  hconv_problem p{};
  p.dtype = dtype;
  p.device = device;
  p.batch = batch;
  p.in_channels = p.out_channels = channels;
  p.height = p.width = size;
  p.kernel_height = p.kernel_width = kernel;
  return p;
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

TEST(DispatchOnCuda, ByType) {
  EXPECT_EQ(chosen(problem(cuda0, 4, 64, 128, 8, bfloat16)), "conv2d_direct_bf16_oc32x64_cuda");
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
    convolutions += v.algorithm == Algorithm::direct;
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
              HasSubstr("it could serve, but another one comes first: line "));
}

TEST(Dispatch, GridLimits) {
  hconv_problem p = problem(cuda0, 1, 1, 4, 1);
  p.height = 1;
  p.width = 33 * 65535;
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc64x32_cuda"), "OW = 2162655 needs more than 65535 tiles");
  p = problem(cuda0, 1, 1, 4, 1);
  p.out_channels = 33 * 65535;
  EXPECT_EQ(reason(p, "conv2d_direct_f32_oc32x64_cuda"), "OC = 2162655 needs more than 65535 tiles");
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
  pin.variant = "pack_b32_cuda";
  EXPECT_THAT(chosen(problem(cuda0, 4, 64, 128, 8), {}, pin), HasSubstr("no compiled convolution variant"));
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

TEST(Dispatch, PackedExtentsAreRoundedToTheTile) {
  const PackedExtents e = packed_extents(problem(cuda0, 1, 65, 8, 3), *find_variant("conv2d_direct_f32_oc64x32_cuda"));
  EXPECT_EQ(e.oc, 128);
  EXPECT_EQ(e.ic, 72);
  EXPECT_EQ(e.kh, 3);
  EXPECT_EQ(e.kw, 3);
  EXPECT_EQ(e.elements, 128 * 72 * 9);
}

} // namespace
