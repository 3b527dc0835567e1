#include "plan_cache.h"

#include <list>
#include <mutex>

#include "plan.h"

namespace hconv::runtime {
namespace {

struct Cached {
  unsigned long long context_id;  ///< 0: the CPU, or no fitting context was current
  const Environment *environment; ///< the one that the choice was made under; a test may have read it again
  SharedPlan plan;                ///< on the CPU with the pool that it computes with
};

struct Cache {
  std::mutex mutex;
  std::list<Cached> recent; ///< most recently used first
};

Cache &cache() {
  static Cache &cache = *new Cache; // never destroyed: its plans would call a driver that may be gone
  return cache;
}

SharedPlan find(Cache &c, const hconv_problem &problem, unsigned long long context_id, const ThreadPool &pool) {
  for (auto it = c.recent.begin(); it != c.recent.end(); ++it)
    if (it->context_id == context_id && it->environment == &environment() && same(it->plan->problem, problem) &&
        same(it->plan->pool, pool)) {
      c.recent.splice(c.recent.begin(), c.recent, it);
      return it->plan;
    }
  return nullptr;
}

} // namespace

hconv_status cached_plan(const hconv_problem &problem, SharedPlan *plan) {
  unsigned long long context_id = 0;
  ThreadPool pool;
  if (raw(problem.device.device_type) == kDLCUDA) {
    if (hconv_status bad = cuda::require_device(problem.device.device_id))
      return bad;
    context_id = cuda::current_context_id(problem.device.device_id);
  } else if (hconv_status bad = choose_pool(nullptr, &pool))
    return bad;
  Cache &c = cache();
  {
    std::lock_guard<std::mutex> lock(c.mutex);
    if ((*plan = find(c, problem, context_id, pool)))
      return HCONV_OK;
  }
  // Made outside the lock: loading a module may take long. Two threads may make the same plan; the first one stays.
  hconv_plan *made = nullptr;
  if (hconv_status bad = hconv_plan_create_with_pool(&problem, pool.own() ? nullptr : &pool.hook, &made))
    return bad;
  SharedPlan shared(made);
  SharedPlan evicted; // destroyed after the lock is given back
  std::lock_guard<std::mutex> lock(c.mutex);
  if ((*plan = find(c, problem, context_id, pool)))
    return HCONV_OK;
  c.recent.push_front({context_id, &environment(), shared});
  if (c.recent.size() > plan_cache_capacity) {
    evicted = std::move(c.recent.back().plan);
    c.recent.pop_back();
  }
  *plan = std::move(shared);
  return HCONV_OK;
}

size_t plan_cache_size() {
  std::lock_guard<std::mutex> lock(cache().mutex);
  return cache().recent.size();
}

void clear_plan_cache() {
  std::list<Cached> dropped;
  std::lock_guard<std::mutex> lock(cache().mutex);
  dropped.swap(cache().recent);
}

} // namespace hconv::runtime
