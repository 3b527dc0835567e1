// The finished library's CPU variants: which tile serves, and that the number of threads changes no bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "environment_guard.h"
#include "runtime/cpu_threads.h"
#include "runtime/dispatch.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;

TEST(CpuThreads, ByEnvironment) {
  int processors;
  {
    EnvironmentGuard none("HCONV_NUM_THREADS", "");
    processors = cpu_threads();
    EXPECT_GE(processors, 1);
  }
  EnvironmentGuard three("HCONV_NUM_THREADS", "3");
  EXPECT_EQ(cpu_threads(), 3);
  for (const char *no_number : {"0", "-2", "many", "100000"}) {
    EnvironmentGuard guard("HCONV_NUM_THREADS", no_number);
    EXPECT_EQ(cpu_threads(), processors) << no_number;
  }
}

TEST(CpuTile, CoversTheChannelsWithTheLeastWaste) {
  Machine machine;
  machine.avx2 = machine.avx512 = true;
  struct {
    int64_t oc;
    const char *tile;
  } const rows[] = {{1, "_oc16x"}, {16, "_oc16x"}, {17, "_oc32x"}, {32, "_oc32x"}, {48, "_oc16x"}, {64, "_oc32x"}};
  for (const auto &row : rows) {
    hconv_problem p{};
    p.dtype = float32;
    p.device = cpu;
    p.batch = 1;
    p.in_channels = p.height = p.width = 8;
    p.out_channels = row.oc;
    p.kernel_height = p.kernel_width = 3;
    Choice choice;
    ASSERT_EQ(choose(p, machine, {}, &choice), HCONV_OK) << hconv_last_error();
    EXPECT_THAT(choice.variant->name, testing::HasSubstr(row.tile)) << row.oc;
  }
}

// Large enough for parallel tasks of every cut: rows, channels, images; groups of tiles, frequencies and chunks.
TEST(CpuThreads, ChangeNoBit) {
  struct {
    std::vector<int64_t> x, w, y;
  } const shapes[] = {{{3, 40, 19, 33}, {70, 40, 3, 3}, {3, 70, 17, 31}},
                      {{1, 70, 9, 40}, {300, 70, 1, 1}, {1, 300, 9, 40}},
                      {{2, 5, 60, 61}, {33, 5, 8, 7}, {2, 33, 53, 55}},
                      {{2, 24, 120, 90}, {40, 24, 9, 9}, {2, 40, 112, 82}},
                      {{1, 300, 50, 50}, {20, 300, 5, 5}, {1, 20, 46, 46}}};
  for (const auto &shape : shapes) {
    Tensor x(shape.x), w(shape.w);
    for (int64_t i = 0; i < x.count(); ++i)
      x.floats()[i] = std::sin(static_cast<float>(i));
    for (int64_t i = 0; i < w.count(); ++i)
      w.floats()[i] = std::cos(static_cast<float>(3 * i));
    std::vector<float> first;
    for (const char *threads : {"1", "2", "5", "64"}) {
      EnvironmentGuard guard("HCONV_NUM_THREADS", threads);
      Tensor y(shape.y);
      y.fill_with(std::nanf(""));
      ASSERT_EQ(hconv_conv2d(&x.dl, &w.dl, nullptr, nullptr, HCONV_MATH_FP32, &y.dl, nullptr), HCONV_OK)
          << hconv_last_error();
      std::vector<float> now(y.floats(), y.floats() + y.count());
      if (first.empty())
        first = now;
      EXPECT_EQ(std::memcmp(first.data(), now.data(), now.size() * sizeof(float)), 0) << threads << " threads";
    }
  }
}

} // namespace
