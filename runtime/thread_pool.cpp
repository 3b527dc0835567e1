#include "thread_pool.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "HalideRuntime.h"
#include "environment.h"
#include "error.h"

// A library without compiled CPU variants has no pool.
extern "C" int halide_set_num_threads(int n) __attribute__((weak));

namespace hconv::runtime {
namespace {

std::mutex &mutex() {
  static std::mutex &mutex = *new std::mutex; // static destructors may call hconv
  return mutex;
}
hconv_thread_pool library_pool{}; ///< of hconv_set_thread_pool; parallel_for null: none
int pool_size = 0;                ///< what Halide was told last

int processors() {
  static const int count = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, most_own_threads);
}

hconv_status own_threads(int *threads) {
  const std::string &value = environment().num_threads;
  *threads = processors();
  if (value.empty())
    return HCONV_OK;
  const bool digits = value.size() <= 3 && value.find_first_not_of("0123456789") == std::string::npos;
  *threads = digits ? std::atoi(value.c_str()) : 0;
  if (*threads >= 1 && *threads <= most_own_threads)
    return HCONV_OK;
  return fail(HCONV_INVALID_ARGUMENT, "HCONV_NUM_THREADS is '%s'; expected a whole number from 1 to %d.", value.c_str(),
              most_own_threads);
}

// Calls limit themselves to their plan's number; the pool must have the largest of them.
void enlarge_own_pool(int threads) {
  if (threads <= pool_size || threads == 1 || !halide_set_num_threads)
    return;
  halide_set_num_threads(threads);
  pool_size = threads;
}

hconv_status check_pool(const hconv_thread_pool &pool) {
  if (!pool.parallel_for)
    return fail(HCONV_INVALID_ARGUMENT, "pool->parallel_for is null; expected a function that runs tasks.");
  if (pool.threads < 1)
    return fail(HCONV_INVALID_ARGUMENT, "pool->threads is %d; expected at least 1, the calling thread.", pool.threads);
  return HCONV_OK;
}

hconv_status set_library_pool(const hconv_thread_pool *pool) {
  if (pool)
    if (hconv_status bad = check_pool(*pool))
      return bad;
  std::lock_guard<std::mutex> lock(mutex());
  library_pool = pool ? *pool : hconv_thread_pool{};
  return HCONV_OK;
}

} // namespace

bool same(const ThreadPool &a, const ThreadPool &b) {
  return a.threads == b.threads && a.hook.context == b.hook.context && a.hook.parallel_for == b.hook.parallel_for &&
         a.hook.is_inside == b.hook.is_inside;
}

hconv_status choose_pool(const hconv_thread_pool *given, ThreadPool *pool) {
  if (given)
    if (hconv_status bad = check_pool(*given))
      return bad;
  std::lock_guard<std::mutex> lock(mutex());
  pool->hook = given ? *given : library_pool;
  pool->threads = pool->hook.threads;
  if (!pool->own())
    return HCONV_OK;
  if (hconv_status bad = own_threads(&pool->threads))
    return bad;
  enlarge_own_pool(pool->threads);
  return HCONV_OK;
}

} // namespace hconv::runtime

extern "C" hconv_status hconv_set_thread_pool(const hconv_thread_pool *pool) {
  return hconv::runtime::guarded([&] { return hconv::runtime::set_library_pool(pool); });
}
