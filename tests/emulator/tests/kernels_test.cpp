// Right kernels give right results, and missing barriers show.
#include "emulated_device.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;
using emulator_test::small_integers;

class Kernels : public EmulatedDevice {
protected:
  void TearDown() override {
    for (const char *name : {"HCONV_EMULATOR_SEED", "HCONV_EMULATOR_THREADS"})
      unsetenv(name);
    EmulatedDevice::TearDown();
  }

  void set(const char *name, int value) {
    setenv(name, std::to_string(value).c_str(), 1);
    hconv_emulator_reset();
  }

  std::vector<float> product(const char *kernel, int m, int n, int k) {
    const DeviceArray<float> a(small_integers(size_t(m) * k, 5, 1)), b(small_integers(size_t(k) * n, 5, 2));
    const DeviceArray<float> c(size_t(m) * n);
    const Shape shape{{unsigned(n) / 16, unsigned(m) / 16, 1}, {16, 16, 1}, 2 * 16 * 16 * 4};
    EXPECT_EQ(launch(kernel, shape, a.pointer(), b.pointer(), n, k, c.pointer()), CUDA_SUCCESS);
    return c.values();
  }

  static std::vector<float> expected_product(int m, int n, int k) {
    const std::vector<float> a = small_integers(size_t(m) * k, 5, 1), b = small_integers(size_t(k) * n, 5, 2);
    std::vector<float> c(size_t(m) * n, 0);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int l = 0; l < k; ++l)
          c[size_t(i) * n + j] += a[size_t(i) * k + l] * b[size_t(l) * n + j];
    return c;
  }
};

TEST_F(Kernels, IndexesCoverAnyGridAndBlock) {
  const Shape shapes[] = {{{7, 1, 1}, {256, 1, 1}, 0},
                          {{2, 3, 5}, {4, 8, 2}, 0},
                          {{1, 1, 1}, {1, 1, 1}, 0},
                          {{1, 40, 3}, {33, 1, 1}, 0},
                          {{3, 1, 2}, {1, 4, 64}, 0}}; // at most 256 threads: the kernel is launch-bounded
  for (const Shape &s : shapes) {
    const int64_t n = int64_t(s.grid[0]) * s.grid[1] * s.grid[2] * s.block[0] * s.block[1] * s.block[2];
    const std::vector<float> x = small_integers(size_t(n), 100, 3);
    const DeviceArray<float> device_x(x), y(x.size());
    ASSERT_EQ(launch("scale_and_index", s, device_x.pointer(), 2.0f, n, y.pointer()), CUDA_SUCCESS);
    std::vector<float> expected(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      expected[i] = 2 * x[i] + float(i);
    EXPECT_EQ(y.values(), expected);
  }
}

TEST_F(Kernels, KernelWithoutArguments) {
  EXPECT_EQ(launch("no_arguments", {{5, 1, 1}, {32, 1, 1}, 0}), CUDA_SUCCESS);
}

TEST_F(Kernels, MatmulWithBarriersIsExactForAnySeedAndThreadCount) {
  const std::vector<float> expected = expected_product(48, 64, 80);
  for (int threads : {1, 2, 3}) {
    set("HCONV_EMULATOR_THREADS", threads);
    for (int seed = 0; seed < 5; ++seed) {
      set("HCONV_EMULATOR_SEED", seed);
      ASSERT_EQ(product("matmul", 48, 64, 80), expected) << seed;
    }
  }
}

TEST_F(Kernels, MissingSecondBarrierGivesWrongResultsForEverySeed) {
  const std::vector<float> expected = expected_product(48, 64, 80);
  for (int seed = 0; seed < 20; ++seed) {
    set("HCONV_EMULATOR_SEED", seed);
    ASSERT_NE(product("matmul_missing_second_barrier", 48, 64, 80), expected) << seed;
  }
}

TEST_F(Kernels, MissingBarrierReadsUnwrittenSharedMemory) {
  const std::vector<float> x = small_integers(96, 50, 4);
  std::vector<float> expected = x;
  std::rotate(expected.begin(), expected.begin() + 1, expected.end());
  const DeviceArray<float> device_x(x), y(x.size());
  const Shape shape{{1, 1, 1}, {96, 1, 1}, 96 * 4};
  ASSERT_EQ(launch("rotate", shape, device_x.pointer(), 1, y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), expected);
  for (int seed = 0; seed < 20; ++seed) {
    set("HCONV_EMULATOR_SEED", seed);
    ASSERT_EQ(launch("rotate", shape, device_x.pointer(), 0, y.pointer()), CUDA_SUCCESS);
    const std::vector<float> racy = y.values();
    ASSERT_TRUE(std::any_of(racy.begin(), racy.end(), [](float v) { return std::isnan(v); })) << seed;
  }
}

TEST_F(Kernels, MissingWarpBarrierReadsUnwrittenSharedMemory) {
  const std::vector<float> x = small_integers(64, 50, 5);
  std::vector<float> expected = x;
  std::rotate(expected.begin(), expected.begin() + 1, expected.begin() + 32);
  std::rotate(expected.begin() + 32, expected.begin() + 33, expected.end());
  const DeviceArray<float> device_x(x), y(x.size());
  const Shape shape{{1, 1, 1}, {64, 1, 1}, 64 * 4};
  ASSERT_EQ(launch("rotate_in_warp", shape, device_x.pointer(), 1, 32, y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), expected);
  for (int seed = 0; seed < 20; ++seed) {
    set("HCONV_EMULATOR_SEED", seed);
    ASSERT_EQ(launch("rotate_in_warp", shape, device_x.pointer(), 0, 32, y.pointer()), CUDA_SUCCESS);
    ASSERT_NE(y.values(), expected) << seed;
  }
}

TEST_F(Kernels, WarpBarrierWorksInPartialWarpsAndWithoutExitedLanes) {
  const std::vector<float> x = small_integers(48, 50, 6);
  const DeviceArray<float> device_x(x), y(x.size());
  ASSERT_EQ(launch("rotate_in_warp", {{1, 1, 1}, {48, 1, 1}, 48 * 4}, device_x.pointer(), 1, 16, y.pointer()),
            CUDA_SUCCESS);
  const std::vector<float> values = y.values();
  for (size_t i = 0; i < 48; ++i) {
    if (i % 32 < 16) {
      EXPECT_EQ(values[i], x[i / 32 * 32 + (i % 32 + 1) % 16]) << i;
    } else {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    }
  }
}

TEST_F(Kernels, SharedMemoryIsNaNBeforeEveryBlock) {
  const DeviceArray<unsigned> y(1024);
  for (int repeat = 0; repeat < 2; ++repeat) {
    product("matmul", 16, 16, 16); // leaves other values behind
    ASSERT_EQ(launch("read_unwritten_shared", {{1, 1, 1}, {1024, 1, 1}, 4096}, y.pointer()), CUDA_SUCCESS);
    EXPECT_EQ(y.values(), std::vector<unsigned>(1024, 0xffffffffu));
  }
}

TEST_F(Kernels, ThreadOrderIsRandomPerPhaseAndRepeatable) {
  const auto orders = [&](int seed) {
    set("HCONV_EMULATOR_SEED", seed);
    const DeviceArray<int> next(std::vector<int>{0}), order(256);
    EXPECT_EQ(launch("record_order", {{1, 1, 1}, {128, 1, 1}, 0}, next.pointer(), order.pointer()), CUDA_SUCCESS);
    return order.values();
  };
  const std::vector<int> first = orders(7);
  EXPECT_EQ(orders(7), first);
  EXPECT_NE(orders(8), first);
  const std::vector<int> before(first.begin(), first.begin() + 128), after(first.begin() + 128, first.end());
  EXPECT_NE(before, after);
  std::vector<int> everyone(128);
  std::iota(everyone.begin(), everyone.end(), 0);
  EXPECT_TRUE(std::is_permutation(before.begin(), before.end(), everyone.begin()));
  EXPECT_TRUE(std::is_permutation(after.begin(), after.end(), everyone.begin()));
  EXPECT_NE(before, everyone);
}

TEST_F(Kernels, SubnormalsAreKeptWhateverTheCallerHasSet) {
  const std::vector<float> x = {0x1p-140f, 0x1p-127f};
  const DeviceArray<float> device_x(x), y(x.size());
#if defined(__SSE__)
  const unsigned saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved | 0x8040); // flush to zero, denormals are zero
#endif
  const CUresult result = launch("halve", {{1, 1, 1}, {2, 1, 1}, 0}, device_x.pointer(), y.pointer());
#if defined(__SSE__)
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040u, 0x8040u) << "the caller's mode is left as it was";
  __builtin_ia32_ldmxcsr(saved);
#endif
  ASSERT_EQ(result, CUDA_SUCCESS);
  EXPECT_EQ(y.values(), (std::vector<float>{0x1p-141f, 0x1p-128f}));
}

TEST_F(Kernels, ConvolutionIsExactAndFast) {
  constexpr int kB = 2, kIc = 64, kH = 9, kW = 75, kOc = 128, kOh = kH - 2, kOw = kW - 2;
  const std::vector<float> x = small_integers(size_t(kB) * kIc * kH * kW, 3, 7),
                           w = small_integers(size_t(kIc) * 9 * kOc, 3, 8);
  std::vector<float> expected(size_t(kB) * kOc * kOh * kOw, 0);
  for (int b = 0; b < kB; ++b)
    for (int ic = 0; ic < kIc; ++ic)
      for (int tap = 0; tap < 9; ++tap)
        for (int oc = 0; oc < kOc; ++oc)
          for (int oh = 0; oh < kOh; ++oh)
            for (int ow = 0; ow < kOw; ++ow)
              expected[((size_t(b) * kOc + oc) * kOh + oh) * kOw + ow] +=
                  w[(size_t(ic) * 9 + tap) * kOc + oc] *
                  x[((size_t(b) * kIc + ic) * kH + oh + tap / 3) * kW + ow + tap % 3];
  const DeviceArray<float> device_x(x), device_w(w), y(expected.size());
  const Shape shape{{(kOw + 31) / 32, kOc / 32, kB * kOh}, {8, 8, 1}, (8 * 34 + 8 * 3 * 32) * 4};
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(launch("conv_3x3", shape, device_x.pointer(), device_w.pointer(), kIc, kH, kW, kOc, y.pointer()),
              CUDA_SUCCESS);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_EQ(y.values(), expected);
  RecordProperty("milliseconds", std::to_string(best * 1e3));
  std::printf("2x64x9x75 -> 128, 3x3: %.1f ms\n", best * 1e3);
  EXPECT_LT(best, 5.0) << "far beyond what any build of the emulator should need";
}

} // namespace
