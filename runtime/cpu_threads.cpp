#include "cpu_threads.h"

#include <atomic>
#include <thread>

#include "HalideRuntime.h"
#include "environment.h"

// A library without compiled CPU variants has no pool.
extern "C" {
int halide_set_num_threads(int n) __attribute__((weak));
halide_do_par_for_t halide_set_custom_do_par_for(halide_do_par_for_t do_par_for) __attribute__((weak));
int halide_default_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure)
    __attribute__((weak));
}

namespace hconv::runtime {
namespace {

std::atomic<int> pool_threads{0};

// Halide's own wakes its threads, and takes a lock, even for a single task.
int par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
  if (size > 1 && pool_threads.load(std::memory_order_relaxed) > 1)
    return halide_default_do_par_for(user_context, task, min, size, closure);
  for (int i = min; i < min + size; i++)
    if (int failed = task(user_context, i, closure))
      return failed;
  return 0;
}

int processors() {
  static const int count = static_cast<int>(std::thread::hardware_concurrency());
  return count > 0 ? count : 1;
}

} // namespace

int wanted_threads() {
  return environment().num_threads > 0 ? environment().num_threads : processors();
}

int cpu_threads() {
  const int threads = wanted_threads();
  if (pool_threads.load(std::memory_order_relaxed) != threads && halide_set_num_threads) {
    halide_set_num_threads(threads);
    if (pool_threads.exchange(threads) == 0) // later, a program may have set its own
      halide_set_custom_do_par_for(par_for);
  }
  return threads;
}

} // namespace hconv::runtime
