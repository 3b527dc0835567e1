// The finished library's own table: which compiled variant serves which shape, without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/dispatch.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using testing::AllOf;
using testing::EndsWith;

struct Row {
  const char *shape;
  hconv_problem problem;
  const char *name; ///< a regular expression
};

hconv_problem problem(DLDataType dtype, DLDevice device, int64_t batch, int64_t channels, int64_t size,
                      int64_t kernel) {
  return square_problem(device, batch, channels, size, kernel, kernel, dtype);
}

/// The heuristic alone, whatever schedules/tuned/ holds.
Environment untuned() {
  Environment environment;
  environment.ask_tuned = false;
  return environment;
}

hconv_problem strict(hconv_problem p) {
  p.math = HCONV_MATH_STRICT;
  return p;
}

// Parts of names that must be there whatever the speeds' last digits are.
const Row rows[] = {
    {"B4 C64 128x128 K8", problem(float32, cuda0, 4, 64, 128, 8), "conv2d_transform_f32_fft32x32_"},
    {"B1 C128 256x256 K32", problem(float32, cuda0, 1, 128, 256, 32), "conv2d_transform_f32_fft64x64_"},
    {"strict B4 C64 128x128 K8", strict(problem(float32, cuda0, 4, 64, 128, 8)), "conv2d_direct_f32_oc64x.*_kw8_"},
    {"strict B1 C128 256x256 K32", strict(problem(float32, cuda0, 1, 128, 256, 32)), "conv2d_direct_f32_oc64x.*_kw8_"},
    {"strict B32 C64 58x58 K3", strict(problem(float32, cuda0, 32, 64, 58, 3)), "conv2d_direct_f32_oc64x.*_kw3_"},
    {"strict B32 C512 9x9 K3", strict(problem(float32, cuda0, 32, 512, 9, 3)), "conv2d_direct_f32_oc.*_kw3_"},
    {"few blocks: B1 C16 32x32 K4", problem(float32, cuda0, 1, 16, 32, 4), "conv2d_direct_f32_oc16x16_r2_.*_kw4_"},
    {"strict B2 C32 256x256 K5", strict(problem(float32, cuda0, 2, 32, 256, 5)), "conv2d_direct_f32_oc32x"},
    {"bf16", strict(problem(bfloat16, cuda0, 4, 64, 128, 8)), "conv2d_direct_bf16_oc64x128_"},
    {"f16", strict(problem(float16, cuda0, 32, 64, 58, 3)), "conv2d_direct_f16_oc(32|64)x64_"},
};

TEST(LibraryDispatch, ByShapeOnCuda) {
  for (const Row &row : rows) {
    Choice choice;
    ASSERT_EQ(choose(row.problem, {}, untuned(), &choice), HCONV_OK) << row.shape << ": " << hconv_last_error();
    EXPECT_THAT(choice.variant->name, AllOf(testing::ContainsRegex(row.name), EndsWith("_cuda"))) << row.shape;
    EXPECT_THAT((choice.pack ? choice.pack : choice.product)->name, EndsWith("_cuda")) << row.shape;
  }
}

TEST(LibraryDispatch, ByProcessorOnTheCpu) {
  Machine machine;
  for (const char *ends : {"_cpu_baseline", "_cpu_avx2", "_cpu_avx512"}) {
    machine.avx2 = std::strcmp(ends, "_cpu_baseline") != 0;
    machine.avx512 = std::strcmp(ends, "_cpu_avx512") == 0;
    for (DLDataType dtype : {float32, bfloat16, float16}) {
      Choice choice;
      ASSERT_EQ(choose(problem(dtype, cpu, 2, 16, 32, 3), machine, untuned(), &choice), HCONV_OK) << hconv_last_error();
      EXPECT_THAT(choice.variant->name, EndsWith(ends));
      EXPECT_THAT(choice.pack->name, EndsWith("_cpu"));
    }
  }
}

bool compiled(Algorithm algorithm, Type type) {
  for (const Variant &v : variants())
    if (v.algorithm == algorithm && v.type == type)
      return true;
  return false;
}

TEST(LibraryDispatch, SixteenBitTypesRunOnTensorCoresUnlessStrict) {
  for (const auto &[dtype, type] : {std::pair{bfloat16, Type::bf16}, {float16, Type::f16}}) {
    if (!compiled(Algorithm::mma, type))
      GTEST_SKIP() << "no mma variant is compiled";
    for (int64_t channels : {32, 64, 256})
      for (int64_t size : {16, 58, 128}) {
        if (channels == 32 && size == 16)
          continue; // so few products that packing x first costs more than it saves
        const hconv_problem p = problem(dtype, cuda0, 8, channels, size, 3);
        Choice choice;
        ASSERT_EQ(choose(p, {}, {}, &choice), HCONV_OK) << hconv_last_error();
        EXPECT_NE(choice.variant->algorithm, Algorithm::direct) << channels << " " << size;
        EXPECT_EQ(choice.pack_input != nullptr,
                  on_tensor_cores(choice.variant->algorithm) && choice.variant->layout == HCONV_LAYOUT_NCHW);
        ASSERT_EQ(choose(strict(p), {}, {}, &choice), HCONV_OK) << hconv_last_error();
        EXPECT_EQ(choice.variant->algorithm, Algorithm::direct) << channels << " " << size;
      }
  }
}

TEST(LibraryDispatch, WarpgroupsMultiplyOnOneComputeCapabilityAlone) {
  for (const auto &[dtype, type] : {std::pair{bfloat16, Type::bf16}, {float16, Type::f16}}) {
    if (!compiled(Algorithm::mma, type) || !compiled(Algorithm::wgmma, type))
      GTEST_SKIP() << "no mma or no wgmma variant is compiled";
    for (const auto &[capability, algorithm] : {std::pair{90, Algorithm::wgmma},
                                                {80, Algorithm::mma},
                                                {89, Algorithm::mma},
                                                {100, Algorithm::mma},
                                                {120, Algorithm::mma}}) {
      Machine machine;
      machine.capability = capability;
      Choice choice;
      ASSERT_EQ(choose(problem(dtype, cuda0, 32, 128, 30, 3), machine, untuned(), &choice), HCONV_OK)
          << hconv_last_error();
      EXPECT_STREQ(name_of(choice.variant->algorithm), name_of(algorithm)) << capability;
    }
  }
}

struct WarpgroupRow {
  int64_t batch, channels, size, kernel;
  const char *nchw,
      *nhwc; ///< the tiles that were the fastest on an H200, or within 5 % of that; some of NHWC serve NCHW
};

TEST(LibraryDispatch, TheFastestTilesOfTensorCores) {
  const WarpgroupRow measured[] = {
      {8, 256, 58, 3, "nhwc_oc128x8_r28_.*_ss_", "oc128x8_r28_.*_ss_"},
      {8, 128, 114, 3, "nhwc_oc128x16_r16_.*_ss_", "oc128x16_r16_.*_ss_"},
      {8, 64, 226, 3, "oc64x16_r16_.*_kw3_kt3_y16_", "oc64x(16_r16|8_r28)_.*_kw3_kt3_y16_"},
      {32, 64, 58, 3, "(oc64x16_r16|nhwc_oc64x8_r28)_.*_kw3_kt3_y16_", "oc64x8_r28_.*_ss_"},
      {32, 128, 30, 3, "nhwc_oc128x8_r28_.*_ss_", "oc128x8_r28_.*_ss_"},
      {32, 256, 16, 3, "nhwc_oc64x16_r14_.*_ss_", "oc64x16_r14_.*_ss_"},
      {32, 512, 9, 3, "nhwc_oc128x8_r8_.*_ic64_kw3_kt3_s3_", "oc128x8_r8_.*_ic64_kw3_kt3_s3_"},
      {32, 256, 32, 1, "oc128x32_r4_.*_kw1_kt1_y16_", "oc256x32_r4_.*_kw1_kt1_y16_"},
      {16, 128, 64, 5, "nhwc_oc128x32_r8_.*_kw5_kt5_y16_", "oc128x32_r8_.*_kw5_kt5_y16_"},
  };
  for (const auto &[dtype, type] : {std::pair{bfloat16, Type::bf16}, {float16, Type::f16}}) {
    if (!compiled(Algorithm::wgmma, type))
      GTEST_SKIP() << "no wgmma variant is compiled";
    for (const WarpgroupRow &row : measured) {
      hconv_problem p = problem(dtype, cuda0, row.batch, row.channels, row.size, row.kernel);
      Choice choice;
      ASSERT_EQ(choose(p, {}, untuned(), &choice), HCONV_OK) << hconv_last_error();
      EXPECT_THAT(choice.variant->name, testing::ContainsRegex(std::string("^conv2d_w?g?mma_b?f16_") + row.nchw))
          << row.channels << " channels, NCHW";
      p.layout = HCONV_LAYOUT_NHWC;
      ASSERT_EQ(choose(p, {}, untuned(), &choice), HCONV_OK) << hconv_last_error();
      EXPECT_THAT(choice.variant->name, testing::ContainsRegex(std::string("^conv2d_wgmma_[bf16]*_nhwc_") + row.nhwc))
          << row.channels << " channels, NHWC";
    }
  }
}

struct SplitRow {
  DLDataType dtype;
  int64_t batch, channels, size, kernel, out_channels;
  const char *choice; ///< NAME+S, or NAME of a variant without a split
};

// What the best of all variants took, or at most 10 % more, on an H200 (docs/split.md).
TEST(LibraryDispatch, SplitsIntoTheFastestNumberOfParts) {
  const SplitRow measured[] = {
      {float32, 1, 512, 9, 3, 512, "_oc32x8_r8_.*_kh3_.*split_cuda.(16|32)$"},
      {float32, 1, 256, 16, 3, 256, "_oc32x8_r8_.*_kh3_.*split_cuda.(8|16)$"},
      {float32, 1, 512, 7, 1, 512, "_oc32x8_r8_.*_kw1_.*split_cuda.8$"},
      {float32, 1, 1024, 14, 1, 1024, "_oc32x8_r8_.*_kw1_.*split_cuda.4$"},
      {float32, 4, 512, 9, 3, 512, "_oc32x8_r8_.*_kh3_.*split_cuda.(8|16|32)$"},
      {float32, 1, 64, 58, 3, 64, "_oc32x8_r8_.*_kh3_.*split_cuda.(2|4)$"},
      {float32, 1, 2048, 7, 1, 512, "_oc32x8_r8_.*_kw1_.*split_cuda.(16|32)$"},
      {float32, 1, 32, 64, 4, 32, "_oc16x16_r2_.*_kw4_.*_cuda$"},
      {bfloat16, 1, 512, 9, 3, 512, "_oc64x8_r8_.*_kw3_.*split_cuda.16$"},
      {bfloat16, 1, 256, 16, 3, 256, "_oc64x8_r8_.*_kw3_.*split_cuda.8$"},
      {bfloat16, 1, 512, 7, 1, 512, "_oc64x8_r8_.*_kw1_.*split_cuda.8$"},
      {bfloat16, 1, 1024, 14, 1, 1024, "_oc64x8_r8_.*_kw1_.*split_cuda.2$"},
      {bfloat16, 4, 512, 9, 3, 512, "_oc64x8_r8_.*_kw[13]_.*split_cuda.[48]$"},
      {bfloat16, 1, 64, 58, 3, 64, "_oc64x8_r8_.*_kw3_.*_mb4_cuda$"},
      {bfloat16, 1, 2048, 7, 1, 512, "_oc64x8_r8_.*_kw1_.*split_cuda.(8|16)$"},
  };
  for (const SplitRow &row : measured) {
    if (row.dtype.bits == 16 && !compiled(Algorithm::mma, Type::bf16))
      continue;
    hconv_problem p = problem(row.dtype, cuda0, row.batch, row.channels, row.size, row.kernel);
    p.out_channels = row.out_channels;
    Choice choice;
    ASSERT_EQ(choose(p, {}, untuned(), &choice), HCONV_OK) << hconv_last_error();
    const std::string parts = choice.parts ? "+" + std::to_string(choice.parts) : "";
    EXPECT_THAT(choice.variant->name + parts, testing::ContainsRegex(row.choice))
        << row.batch << " x " << row.channels << " channels of " << row.size << " x " << row.size;
  }
}

// A number of blocks at once that the table names is one that a multiprocessor of an H200 can hold.
TEST(LibraryDispatch, BlocksAtOnceFitAMultiprocessor) {
  constexpr int64_t shared = 228 << 10, of_the_system = 1 << 10, registers = 1 << 16;
  for (const Variant &v : variants())
    for (const KernelResources &kernel : kernel_resources())
      if (is_cuda(v.target) && is_convolution(v.algorithm) && v.algorithm != Algorithm::transform &&
          std::string(kernel.arch) == "90a" && belongs(kernel, v) && blocks_at_once(v) != v.min_blocks) {
        EXPECT_LE(blocks_at_once(v) * (kernel.shared_bytes + of_the_system), shared) << v.name;
        EXPECT_LE(blocks_at_once(v) * kernel.registers * kernel.threads, registers) << v.name;
      }
}

TEST(LibraryDispatch, EverySpeedIsOneOfACompiledVariant) {
  std::vector<Speed> speeds(dispatch_speeds().begin(), dispatch_speeds().end());
  speeds.insert(speeds.end(), sum_speeds().begin(), sum_speeds().end());
  for (const Speed &speed : speeds) {
    EXPECT_GT(speed.speed, 0);
    if (on_tensor_cores(speed.algorithm) && !compiled(speed.algorithm, Type::bf16))
      continue;
    bool found = false;
    for (const Variant &v : variants())
      found = found || holds(speed, v);
    EXPECT_TRUE(found) << name_of(speed.algorithm) << " " << speed.tile_oc << " x " << speed.tile_ow;
  }
}

TEST(TunedTables, EveryEntryIsServedByItsVariant) {
  // Passes while schedules/tuned/ is empty. A table that outlived one of its variants, or names one for a problem that
  // it cannot compute, fails here.
  for (const TunedTable &table : compiled_tuned_tables())
    for (const TunedEntry &entry : table.entries) {
      Machine machine;
      machine.avx2 = entry.device == "cpu_avx2" || entry.device == "cpu_avx512";
      machine.avx512 = entry.device == "cpu_avx512";
      machine.threads = static_cast<int>(entry.threads);
      if (entry.device.substr(0, 3) == "sm_")
        machine.capability = std::atoi(entry.device.c_str() + 3);
      Choice choice;
      const std::string place = table.file + ":" + std::to_string(entry.line);
      ASSERT_EQ(choose(entry.problem, machine, {}, &choice), HCONV_OK) << place << ": " << hconv_last_error();
      EXPECT_EQ(choice.tuned.how, Tuned::How::exact) << place;
      EXPECT_EQ(std::string(choice.variant->name), entry.variant.substr(0, entry.variant.find('+'))) << place;
    }
}

TEST(Library, EveryCudaVariantHasResources) {
  size_t size = 0;
  hconv_list(HCONV_JSON, nullptr, &size);
  std::string content(size, '\0');
  ASSERT_EQ(hconv_list(HCONV_JSON, content.data(), &size), HCONV_OK);
  for (const auto &variant : nlohmann::json::parse(content.c_str()))
    if (variant["target"] == "cuda") {
      EXPECT_FALSE(variant["resources"].empty()) << variant["name"];
      for (const auto &kernel : variant["resources"])
        EXPECT_GT(kernel["registers"], 0) << variant["name"];
    }
}

TEST(Library, ComputesOnTheCpu) {
  Case c(small_problem());
  ASSERT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr), HCONV_OK)
      << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(true));
}

} // namespace
