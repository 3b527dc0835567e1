// What travels through Halide's user_context: one object on the stack for each call of an ahead-of-time function, and
// one for each thread that shares a parallel loop of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu_tasks.h"
#include "cuda/driver_api.h"
#include "hconv/hconv.h"
#include "scratch.h"

namespace hconv::runtime {

class RunContext;
struct ThreadPool;

/// One thread's part in a call.
class Lane {
public:
  explicit Lane(RunContext *run) : run_(run) {}
  Lane(const Lane &) = delete;
  Lane &operator=(const Lane &) = delete;

  /// The lane behind a user_context, or null if it is not one of ours (a program may link other Halide code).
  static Lane *from(const void *user_context);
  RunContext *run() const { return run_; }

private:
  static constexpr uint64_t mark = 0x68636f6e762e7263; // "hconv.rc"
  uint64_t mark_ = mark;
  RunContext *run_;

public:
  ScratchStack scratch; ///< memory of the caller's workspace; empty: from malloc
  int threads = 1;      ///< that a parallel loop of this lane may have, this one among them
  bool in_loop = false; ///< this is a thread's part in a parallel loop already
  int32_t number = 0;   ///< of the pieces of the workspace
};

class RunContext : public Lane {
public:
  RunContext() : Lane(this) {}
  RunContext(cuda::Context context, unsigned long long context_id, cuda::Stream stream, bool load_only)
      : Lane(this), context(context), context_id(context_id), stream(stream), load_only(load_only) {}

  /// The run context behind a user_context, or null if it is not one of ours.
  static RunContext *from(const void *user_context);

  /// Lets `threads` threads of `pool` share the call's parallel loops. Each takes its scratch memory from its own
  /// `bytes` of the workspace; 0: from malloc. `workspace` is rounded up to scratch_alignment.
  void use_threads(const ThreadPool &pool, int threads, const CpuTasks *tasks, void *workspace, int64_t bytes);
  /// The scratch memory of lane `number`, from 0.
  ScratchStack piece(int32_t number) const;

  /// Keeps the first failure; later ones, perhaps of other worker threads, are dropped. Never allocates or throws.
  [[gnu::format(printf, 3, 4)]] void report(hconv_status status, const char *format, ...);

  /// Turns an ahead-of-time function's result into a status, with the sentence reported meanwhile.
  hconv_status finish(int result, const char *function);

  cuda::Context context = nullptr; ///< current for the whole call; null on the CPU
  unsigned long long context_id = 0;
  cuda::Stream stream = nullptr;
  bool load_only = false;           ///< kernels are loaded but not launched
  const ThreadPool *pool = nullptr; ///< null: loops run on the calling thread
  const CpuTasks *tasks = nullptr;  ///< of a direct CPU variant

private:
  char *pieces_ = nullptr;
  int64_t piece_bytes_ = 0;
  std::atomic<bool> failed_{false};
  hconv_status status_ = HCONV_OK;
  char text_[512] = "";
};

} // namespace hconv::runtime
