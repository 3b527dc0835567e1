// Many threads at once, beginning with the very first calls of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/plan_cache.h"
#include "tensor.h"

namespace {

using namespace hconv_test;

/// Runs `body(thread number)` in 32 threads that start together.
template <class Body> void in_threads(Body body) {
  std::atomic<int> waiting{32};
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting.load() > 0)
        std::this_thread::yield();
      body(t);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Threads, FirstCallsAtOnce) {
  hconv::runtime::clear_plan_cache();
  std::atomic<int> right{0};
  in_threads([&](int t) {
    hconv_problem p = small_problem();
    p.batch = 1 + t % 4;
    Case c(p);
    c.x.fill(t);
    for (int i = 0; i < 20; ++i) {
      c.y.fill_with(-1);
      if (hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr) == HCONV_OK)
        right += c.found() == c.expected(true);
    }
  });
  EXPECT_EQ(right.load(), 32 * 20);
  EXPECT_EQ(hconv::runtime::plan_cache_size(), 4u);
}

TEST(Threads, OnePlanIsShared) {
  hconv_problem p = small_problem();
  PlanHolder plan(p);
  Case weights(p);
  Bytes packed(hconv_plan_packed_bytes(plan));
  ASSERT_EQ(hconv_pack(plan, &weights.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
  std::atomic<int> right{0};
  in_threads([&](int t) {
    Case c(p);
    c.x.fill(t);
    if (hconv_run(plan, &c.x.dl, packed.data(), nullptr, &c.y.dl, nullptr, 0, nullptr) == HCONV_OK)
      right += c.found() == c.expected(false);
  });
  EXPECT_EQ(right.load(), 32);
}

TEST(Threads, EachHasItsOwnLastError) {
  std::atomic<int> right{0};
  in_threads([&](int t) {
    hconv_problem p = small_problem();
    p.kernel_width = -t;
    PlanHolder plan(p);
    right += "The kernel width KW is " + std::to_string(-t) + "; expected at least 1." == hconv_last_error();
  });
  EXPECT_EQ(right.load(), 32);
  std::thread([] { EXPECT_STREQ(hconv_last_error(), ""); }).join();
}

} // namespace
