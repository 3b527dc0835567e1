// A caller's thread pool made of std::thread: new threads for every loop, and counters of what it is asked for.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "hconv/hconv.h"

namespace hconv_test {

struct StdThreads {
  explicit StdThreads(int32_t threads) {
    pool.threads = threads;
    pool.context = this;
    pool.parallel_for = [](void *context, int32_t count, hconv_task task, void *argument) {
      auto &self = *static_cast<StdThreads *>(context);
      ++self.loops;
      self.tasks += count;
      return self.run(count, [=](int32_t i) { task(argument, i); });
    };
  }
  StdThreads(const StdThreads &) = delete;
  StdThreads &operator=(const StdThreads &) = delete;

  hconv_thread_pool pool{};
  std::atomic<int> loops{0}, tasks{0};
  /// How a loop is run; tests put in other ways.
  std::function<hconv_status(int32_t, const std::function<void(int32_t)> &)> run =
      [](int32_t count, const std::function<void(int32_t)> &task) {
        std::vector<std::thread> threads;
        for (int32_t i = 1; i < count; ++i)
          threads.emplace_back(task, i);
        task(0);
        for (std::thread &thread : threads)
          thread.join();
        return HCONV_OK;
      };
};

} // namespace hconv_test
