// What is refused: thread pools without a function, and numbers of threads that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environment_guard.h"
#include "std_threads.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

TEST(ThreadPool, Refusals) {
  hconv_thread_pool pool{};
  const hconv_problem p = small_problem();
  hconv_plan *plan;
  EXPECT_EQ(hconv_set_thread_pool(&pool), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "pool->parallel_for is null; expected a function that runs tasks.");
  pool.parallel_for = [](void *, int32_t, hconv_task, void *) { return HCONV_OK; };
  EXPECT_EQ(hconv_plan_create_with_pool(&p, &pool, &plan), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "pool->threads is 0; expected at least 1, the calling thread.");
  EXPECT_EQ(plan, nullptr);
}

TEST(ThreadPool, BadNumbersOfThreadsAreRefused) {
  Case c(small_problem());
  for (const char *value : {"0", "-2", "many", "100000", "257", "4x", " 4", "+4", "2.0"}) {
    EnvironmentGuard guard("HCONV_NUM_THREADS", value);
    const std::string sentence =
        "HCONV_NUM_THREADS is '" + std::string(value) + "'; expected a whole number from 1 to 256.";
    PlanHolder plan(c.problem);
    EXPECT_EQ(plan.status, HCONV_INVALID_ARGUMENT);
    EXPECT_EQ(hconv_last_error(), sentence);
    EXPECT_EQ(hconv_conv2d(&c.x.dl, &c.w.dl, nullptr, nullptr, HCONV_MATH_FP32, &c.y.dl, nullptr),
              HCONV_INVALID_ARGUMENT);
    EXPECT_THAT(explained(c.problem, HCONV_TEXT), HasSubstr(sentence));
    StdThreads caller(2); // has a number of its own
    PlanHolder with_pool(c.problem, &caller.pool);
    EXPECT_EQ(with_pool.status, HCONV_OK) << hconv_last_error();
  }
}

} // namespace
