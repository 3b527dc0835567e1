// Who computes the tasks of a CPU variant: the caller's thread pool, or Halide's, which all calls without one share.
#pragma once

#include "hconv/hconv.h"

namespace hconv::runtime {

struct ThreadPool {
  hconv_thread_pool hook{}; ///< parallel_for null: Halide's pool
  int threads = 1;          ///< that share a loop, the calling one among them

  bool own() const { return !hook.parallel_for; }
};

bool same(const ThreadPool &a, const ThreadPool &b);

/// The pool of a new plan: *given, or with null the one of hconv_set_thread_pool, or without that Halide's, with as
/// many threads as HCONV_NUM_THREADS says, else one for each processor that this process may run on.
hconv_status choose_pool(const hconv_thread_pool *given, ThreadPool *pool);

/// Most threads that HCONV_NUM_THREADS may ask for, which is Halide's limit.
constexpr int most_own_threads = 256;

} // namespace hconv::runtime
