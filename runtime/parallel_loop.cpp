// The parallel loops of generated code. A loop over tasks becomes a loop over lanes, at most one a thread: each lane
// has scratch memory of its own and takes the next task until none is left. So it does not matter how many of a pool's
// threads come, when, or in which order, and no lane waits for another one.
#include <algorithm>
#include <atomic>

#include "HalideRuntime.h"
#include "error.h"
#include "problem.h"
#include "run_context.h"
#include "thread_pool.h"

// A library without compiled CPU variants has no pool.
extern "C" int halide_default_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure)
    __attribute__((weak));

namespace hconv::runtime {
namespace {

/// Threads in loops that share Halide's pool, of all calls together.
std::atomic<int> computing{0};

/// Adds between `least` and `wanted` threads to the ones that compute, so that there are at most `limit` if possible.
int enter(int least, int wanted, int limit) {
  int now = computing.load(), added;
  do
    added = std::clamp(limit - now, least, std::max(least, wanted));
  while (!computing.compare_exchange_weak(now, now + added));
  return added;
}

struct Tasks {
  halide_task_t function;
  int first, count;
  uint8_t *closure;
};

class Loop {
public:
  Loop(Lane *caller, const Tasks &tasks, int lanes)
      : caller_(*caller), pool_(*caller->run()->pool), tasks_(tasks), lanes_(lanes), active_(lanes) {}

  int run();
  void lane() noexcept;

private:
  void take_tasks(Lane *lane);
  bool leaves_early();
  hconv_status call_hook();

  Lane &caller_;
  const ThreadPool &pool_;
  const Tasks tasks_;
  const int lanes_;
  std::atomic<int> next_{0}, started_{0}, ended_{0}, result_{0};
  std::atomic<int> active_; ///< lanes that have not left early
};

void Loop::lane() noexcept {
  const int i = started_.fetch_add(1);
  if (i >= lanes_) { // this one has no memory
    caller_.run()->report(HCONV_INTERNAL_ERROR,
                          "The thread pool's parallel_for called its task more than %d times; expected %d calls.",
                          lanes_, lanes_);
    return;
  }
  Lane lane(caller_.run());
  lane.in_loop = true;
  // Only Halide's pool is known to bear a loop in a loop.
  const int share = pool_.own() ? caller_.threads / lanes_ : 1;
  lane.threads = share;
  lane.number = caller_.number + i * share;
  lane.scratch = i == 0 ? caller_.scratch : caller_.run()->piece(lane.number); // the caller may hold some of its own
  take_tasks(&lane);
  ended_.fetch_add(1);
}

void Loop::take_tasks(Lane *lane) {
  while (result_.load(std::memory_order_relaxed) == 0) {
    if (pool_.own() && leaves_early())
      return;
    const int i = next_.fetch_add(1);
    if (i >= tasks_.count)
      break;
    if (const int failed = tasks_.function(lane, tasks_.first + i, tasks_.closure))
      result_ = failed;
  }
  if (pool_.own())
    computing.fetch_sub(1);
}

// Other calls may have come since the loop began, each with a thread of its own.
bool Loop::leaves_early() {
  const int limit = pool_.threads;
  if (computing.load(std::memory_order_relaxed) <= limit)
    return false;
  if (active_.fetch_sub(1) > 1) {
    if (computing.fetch_sub(1) > limit)
      return true;
    computing.fetch_add(1);
  }
  active_.fetch_add(1); // the last lane stays
  return false;
}

hconv_status Loop::call_hook() {
  const auto lane = [](void *loop, int32_t) { static_cast<Loop *>(loop)->lane(); };
  RunContext &run = *caller_.run();
  try {
    const hconv_status found = pool_.hook.parallel_for(pool_.hook.context, lanes_, lane, this);
    if (raw(found) == HCONV_OK)
      return HCONV_OK;
    const bool known = raw(found) > HCONV_OK && raw(found) <= HCONV_INTERNAL_ERROR;
    const hconv_status status = known ? found : HCONV_INTERNAL_ERROR;
    run.report(status, "The thread pool's parallel_for failed with status %d (%s).", raw(found),
               hconv_status_text(status));
    return status;
  } catch (const std::exception &error) {
    run.report(HCONV_INTERNAL_ERROR, "The thread pool's parallel_for threw a C++ exception: %s.", error.what());
  } catch (...) {
    run.report(HCONV_INTERNAL_ERROR, "The thread pool's parallel_for threw a C++ exception of unknown type.");
  }
  return HCONV_INTERNAL_ERROR;
}

int Loop::run() {
  if (pool_.own()) {
    const auto lane = [](void *, int, uint8_t *loop) {
      reinterpret_cast<Loop *>(loop)->lane();
      return 0;
    };
    halide_default_do_par_for(nullptr, lane, 0, lanes_, reinterpret_cast<uint8_t *>(this));
    return result_;
  }
  if (call_hook() != HCONV_OK)
    return halide_error_code_generic_error;
  if (ended_.load() < lanes_) {
    caller_.run()->report(HCONV_INTERNAL_ERROR,
                          "The thread pool's parallel_for returned after %d of %d tasks; expected all of them.",
                          ended_.load(), lanes_);
    return halide_error_code_generic_error;
  }
  return result_;
}

int in_order(const Tasks &t, void *user_context) {
  for (int i = t.first; i < t.first + t.count; i++)
    if (int failed = t.function(user_context, i, t.closure))
      return failed;
  return 0;
}

bool is_inside(const ThreadPool &pool) {
  return pool.hook.is_inside && pool.hook.is_inside(pool.hook.context);
}

int own_loop(Lane *lane, const Tasks &tasks, int most) {
  const int here = lane->in_loop ? 1 : 0; // this thread is among those that compute already
  const int limit = lane->run()->pool->threads;
  const int lanes = enter(1 - here, most - here, limit) + here;
  int result;
  if (lanes > 1)
    result = Loop(lane, tasks, lanes).run();
  else {
    result = in_order(tasks, lane);
    computing.fetch_sub(1 - here);
  }
  // A loop in a loop: its lanes have all left, and this one goes on.
  if (lanes > 1 && here)
    computing.fetch_add(1);
  return result;
}

} // namespace
} // namespace hconv::runtime

// A strong definition in place of the Halide runtime's weak one.
extern "C" int halide_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
  using namespace hconv::runtime;
  const Tasks tasks{task, min, size, closure};
  Lane *lane = Lane::from(user_context);
  const int lanes = lane && lane->run()->pool ? std::min(size, lane->threads) : 1;
  if (lanes <= 1)
    return in_order(tasks, user_context);
  const ThreadPool &pool = *lane->run()->pool;
  if (pool.own())
    return halide_default_do_par_for ? own_loop(lane, tasks, lanes) : in_order(tasks, user_context);
  return is_inside(pool) ? in_order(tasks, user_context) : Loop(lane, tasks, lanes).run();
}
