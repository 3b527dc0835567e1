// The finished library's CPU variants: which tile serves, whose threads compute, and that they change no bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "environment_guard.h"
#include "hconv/hconv.hpp"
#include "runtime/cpu_tasks.h"
#include "runtime/dispatch.h"
#include "std_threads.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;

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
struct ParallelShape {
  std::vector<int64_t> x, w, y;
} const parallel_shapes[] = {{{3, 40, 19, 33}, {70, 40, 3, 3}, {3, 70, 17, 31}},
                             {{1, 70, 9, 40}, {300, 70, 1, 1}, {1, 300, 9, 40}},
                             {{2, 5, 60, 61}, {33, 5, 8, 7}, {2, 33, 53, 55}},
                             {{2, 24, 120, 90}, {40, 24, 9, 9}, {2, 40, 112, 82}},
                             {{1, 300, 50, 50}, {20, 300, 5, 5}, {1, 20, 46, 46}}};

void fill_with_waves(Tensor &x, Tensor &w) {
  for (int64_t i = 0; i < x.count(); ++i)
    x.floats()[i] = std::sin(static_cast<float>(i));
  for (int64_t i = 0; i < w.count(); ++i)
    w.floats()[i] = std::cos(static_cast<float>(3 * i));
}

/// y of the one-call form.
std::vector<float> convolved(Tensor &x, Tensor &w, const std::vector<int64_t> &shape, hconv_math math) {
  Tensor y(shape);
  y.fill_with(std::nanf(""));
  EXPECT_EQ(hconv_conv2d(&x.dl, &w.dl, nullptr, nullptr, math, &y.dl, nullptr), HCONV_OK) << hconv_last_error();
  return {y.floats(), y.floats() + y.count()};
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The caller's pool for the whole library, as long as this object.
struct LibraryPool {
  explicit LibraryPool(const StdThreads &threads) { EXPECT_EQ(hconv_set_thread_pool(&threads.pool), HCONV_OK); }
  ~LibraryPool() { EXPECT_EQ(hconv_set_thread_pool(nullptr), HCONV_OK); }
};

// strict math is the direct sum, and fp32 mostly the transform domain.
class CpuThreads : public testing::TestWithParam<hconv_math> {};
INSTANTIATE_TEST_SUITE_P(Math, CpuThreads, testing::Values(HCONV_MATH_STRICT, HCONV_MATH_FP32),
                         [](const auto &info) { return info.param == HCONV_MATH_STRICT ? "strict" : "fp32"; });

TEST_P(CpuThreads, ChangeNoBit) {
  for (const ParallelShape &shape : parallel_shapes) {
    Tensor x(shape.x), w(shape.w);
    fill_with_waves(x, w);
    std::vector<float> first;
    for (const char *threads : {"1", "2", "3", "7", "64"}) {
      EnvironmentGuard guard("HCONV_NUM_THREADS", threads);
      const std::vector<float> now = convolved(x, w, shape.y, GetParam());
      first = first.empty() ? now : first;
      EXPECT_TRUE(same_bits(first, now)) << threads << " threads";
      StdThreads caller(std::atoi(threads));
      LibraryPool pool(caller);
      EXPECT_TRUE(same_bits(first, convolved(x, w, shape.y, GetParam()))) << threads << " threads of the caller";
      EXPECT_EQ(caller.loops > 0, caller.pool.threads > 1);
      EXPECT_LE(caller.tasks, caller.loops * caller.pool.threads);
    }
  }
}

TEST_P(CpuThreads, OfAnOuterLoopChangeNoBit) {
  const ParallelShape &shape = parallel_shapes[0];
  Tensor x(shape.x), w(shape.w);
  fill_with_waves(x, w);
  EnvironmentGuard guard("HCONV_NUM_THREADS", "3");
  const std::vector<float> expected = convolved(x, w, shape.y, GetParam());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        right += same_bits(expected, convolved(x, w, shape.y, GetParam()));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 50);
}

TEST(CpuPool, LittleWorkWakesNone) {
  StdThreads caller(8);
  struct {
    int64_t batch, channels, size, kernel;
    bool little;
  } const rows[] = {{1, 1, 4, 4, true},   {1, 16, 8, 3, true},   {64, 1, 8, 3, true},
                    {1, 700, 1, 1, true}, {1, 64, 58, 3, false}, {1, 256, 32, 1, false}};
  for (const auto &row : rows) {
    hconv_problem p = square_problem(cpu, row.batch, row.channels, row.size, row.kernel, row.kernel);
    p.math = HCONV_MATH_STRICT;
    Choice choice;
    ASSERT_EQ(choose(p, machine_of(cpu), {}, &choice), HCONV_OK);
    EXPECT_EQ(cpu_microseconds(p, *choice.variant, nullptr) < microseconds_worth_a_thread, row.little) << row.channels;
    Case c(p);
    PlanHolder plan(p, &caller.pool);
    ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
    Bytes packed(hconv_plan_packed_bytes(plan)), workspace(hconv_plan_workspace_bytes(plan));
    ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
    caller.tasks = 0;
    ASSERT_EQ(hconv_run(plan, &c.x.dl, packed.data(), nullptr, &c.y.dl, workspace.data(), workspace.size, nullptr),
              HCONV_OK);
    EXPECT_EQ(caller.tasks > 0, !row.little) << row.channels << " channels of " << row.size;
  }
}

TEST(CpuPool, ThoseOfAPlanAreItsOwn) {
  hconv_problem p = square_problem(cpu, 1, 64, 30, 3, 3);
  p.math = HCONV_MATH_STRICT; // the direct sum, which is exact on these numbers
  StdThreads of_library(2), of_plan(2);
  LibraryPool pool(of_library);
  Case c(p);
  PlanHolder without(p), with(p, &of_plan.pool);
  Bytes packed(hconv_plan_packed_bytes(with));
  ASSERT_EQ(hconv_pack(with, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
  const auto run = [&](const hconv_plan *plan) {
    return hconv_run(plan, &c.x.dl, packed.data(), nullptr, &c.y.dl, nullptr, 0, nullptr);
  };
  EXPECT_EQ(run(with), HCONV_OK);
  EXPECT_EQ(of_plan.loops, 1);
  EXPECT_EQ(of_library.loops, 0);
  EXPECT_EQ(run(without), HCONV_OK);
  EXPECT_EQ(of_plan.loops, 1);
  EXPECT_EQ(of_library.loops, 1);
  EXPECT_EQ(c.found(), c.expected(false));
  of_plan.run = [](int32_t, const std::function<void(int32_t)> &) { return HCONV_OUT_OF_MEMORY; };
  EXPECT_EQ(run(with), HCONV_OUT_OF_MEMORY);
  EXPECT_STREQ(hconv_last_error(), "The thread pool's parallel_for failed with status 4 (out of memory).");
}

TEST(CpuPool, OfACppProgram) {
  hconv_problem p = square_problem(cpu, 1, 64, 30, 3, 3);
  p.math = HCONV_MATH_STRICT; // the direct sum, which is exact on these numbers
  Case c(p);
  hconv::Tensor x(c.x.floats(), {1, 64, 30, 30}), w(c.w.floats(), {64, 64, 3, 3}), y(c.y.floats(), {1, 64, 28, 28});
  std::atomic<int> tasks{0};
  bool inside = false, throws = false;
  hconv::ThreadPool pool(
      3,
      [&](int32_t count, const std::function<void(int32_t)> &task) {
        if (throws)
          throw std::runtime_error("the pool is closed");
        std::vector<std::thread> threads;
        for (int32_t i = 0; i < count; ++i)
          threads.emplace_back([&, i] { ++tasks, task(i); });
        for (std::thread &thread : threads)
          thread.join();
      },
      [&] { return inside; });
  hconv::Plan plan(p, pool);
  hconv::Memory packed(plan.device(), plan.packed_bytes()), workspace(plan.device(), plan.workspace_bytes());
  plan.pack(w, packed.data(), packed.bytes());
  const auto run = [&] { plan.run(x, packed.data(), y, nullptr, workspace.data(), workspace.bytes()); };
  run();
  EXPECT_EQ(c.found(), c.expected(false));
  EXPECT_EQ(tasks, 3);
  hconv::set_thread_pool(&pool);
  hconv::conv2d(x, w, y, nullptr, {}, HCONV_MATH_STRICT);
  EXPECT_EQ(tasks, 6);
  hconv::set_thread_pool(nullptr);
  hconv::conv2d(x, w, y, nullptr, {}, HCONV_MATH_STRICT);
  EXPECT_EQ(tasks, 6);
  inside = true;
  run();
  EXPECT_EQ(tasks, 6);
  inside = false;
  throws = true;
  try {
    run();
    FAIL() << "nothing was thrown";
  } catch (const hconv::Error &error) {
    EXPECT_EQ(error.status(), HCONV_INTERNAL_ERROR);
    EXPECT_STREQ(error.what(), "The thread pool's parallel_for threw a C++ exception: the pool is closed.");
  }
}

} // namespace
