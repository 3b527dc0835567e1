// Parallel loops of generated code: over the caller's pool, over hconv's own, and what both do about faults and about
// loops around them. Plain functions stand for generated tasks, and std::thread for Halide's pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <mutex>

#include "HalideRuntime.h"
#include "runtime/run_context.h"
#include "runtime/thread_pool.h"
#include "std_threads.h"
#include "tensor.h"

namespace {

std::atomic<int> own_lanes{0}, own_lanes_ended{0};

} // namespace

// The part of the Halide runtime that hconv's own pool is made from.
extern "C" int halide_default_do_par_for(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) {
  std::vector<std::thread> threads;
  for (int i = min; i < min + size; ++i) {
    ++own_lanes;
    threads.emplace_back([=] {
      task(user_context, i, closure);
      ++own_lanes_ended;
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  return 0;
}

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using testing::HasSubstr;

/// What a task of generated code does: body(user_context, task number), 0 for success.
using Body = std::function<int(void *, int)>;

int loop(void *user_context, int first, int count, const Body &body) {
  const auto task = [](void *context, int i, uint8_t *closure) {
    return (*reinterpret_cast<const Body *>(closure))(context, i);
  };
  return halide_do_par_for(user_context, task, first, count, reinterpret_cast<uint8_t *>(const_cast<Body *>(&body)));
}

ThreadPool pool_of(const StdThreads &threads) {
  return {threads.pool, threads.pool.threads};
}
ThreadPool own_pool(int threads) {
  return {{}, threads};
}

/// A call with `threads` threads of a pool.
struct Call {
  Call(const ThreadPool &pool, int threads, void *workspace = nullptr, int64_t bytes = 0) {
    run.use_threads(pool, threads, nullptr, workspace, bytes);
  }
  hconv_status operator()(int first, int count, const Body &body) {
    return run.finish(loop(&run, first, count, body), "a_function");
  }
  RunContext run;
};

TEST(ParallelLoop, DoesEveryTaskOnce) {
  for (int threads : {1, 2, 3, 7})
    for (int count : {0, 1, 2, 5, 50})
      for (bool own : {false, true}) {
        StdThreads caller(threads);
        const ThreadPool pool = own ? own_pool(threads) : pool_of(caller);
        Call call(pool, threads);
        own_lanes = 0;
        std::vector<std::atomic<int>> done(static_cast<size_t>(count));
        EXPECT_EQ(call(10, count, [&](void *, int i) { return ++done[static_cast<size_t>(i - 10)], 0; }), HCONV_OK);
        for (const auto &times : done)
          EXPECT_EQ(times, 1);
        const int lanes = std::min(threads, count);
        EXPECT_EQ(own ? own_lanes.load() : caller.tasks.load(), lanes > 1 ? lanes : 0) << threads << " " << count;
      }
}

TEST(ParallelLoop, NeedsNoTwoThreadsAtOnce) {
  StdThreads caller(4);
  caller.run = [](int32_t count, const std::function<void(int32_t)> &task) {
    for (int32_t i = count - 1; i >= 0; --i)
      task(i);
    return HCONV_OK;
  };
  const ThreadPool pool = pool_of(caller);
  Call call(pool, 4);
  int sum = 0;
  EXPECT_EQ(call(0, 9, [&](void *, int i) { return sum += i, 0; }), HCONV_OK);
  EXPECT_EQ(sum, 36);
}

TEST(ParallelLoop, AFailedTaskBecomesAStatusAndEndsTheLoop) {
  StdThreads caller(3);
  const ThreadPool pool = pool_of(caller);
  Call call(pool, 3);
  std::atomic<int> done{0};
  EXPECT_EQ(call(0, 100000,
                 [&](void *context, int i) {
                   ++done;
                   if (i != 5)
                     return 0;
                   halide_error(context, "task 5 has a fault\n");
                   return int{halide_error_code_bad_extern_fold};
                 }),
            HCONV_INTERNAL_ERROR);
  EXPECT_THAT(hconv_last_error(), HasSubstr("Halide reports: task 5 has a fault"));
  EXPECT_LT(done, 100000);
}

/// The sentence of a call whose pool runs loops in a way of its own.
std::string sentence_of(hconv_status expected, decltype(StdThreads::run) run) {
  StdThreads caller(3);
  caller.run = std::move(run);
  const ThreadPool pool = pool_of(caller);
  Call call(pool, 3);
  EXPECT_EQ(call(0, 9, [](void *, int) { return 0; }), expected);
  return hconv_last_error();
}

TEST(ParallelLoop, AFaultOfTheCallersPoolBecomesAStatus) {
  using Task = const std::function<void(int32_t)> &;
  EXPECT_EQ(sentence_of(HCONV_OUT_OF_MEMORY, [](int32_t, Task) { return HCONV_OUT_OF_MEMORY; }),
            "The thread pool's parallel_for failed with status 4 (out of memory).");
  EXPECT_EQ(sentence_of(HCONV_INTERNAL_ERROR, [](int32_t, Task) { return static_cast<hconv_status>(7); }),
            "The thread pool's parallel_for failed with status 7 (internal error).");
  EXPECT_EQ(sentence_of(HCONV_INTERNAL_ERROR,
                        [](int32_t, Task) -> hconv_status { throw std::runtime_error("no threads today"); }),
            "The thread pool's parallel_for threw a C++ exception: no threads today.");
  EXPECT_EQ(sentence_of(HCONV_INTERNAL_ERROR, [](int32_t, Task) -> hconv_status { throw 1; }),
            "The thread pool's parallel_for threw a C++ exception of unknown type.");
  EXPECT_EQ(sentence_of(HCONV_INTERNAL_ERROR, [](int32_t, Task task) { return task(0), task(1), HCONV_OK; }),
            "The thread pool's parallel_for returned after 2 of 3 tasks; expected all of them.");
  EXPECT_EQ(sentence_of(HCONV_INTERNAL_ERROR,
                        [](int32_t, Task task) { return task(0), task(1), task(2), task(2), HCONV_OK; }),
            "The thread pool's parallel_for called its task more than 3 times; expected 3 calls.");
}

TEST(ParallelLoop, StaysOnAThreadThatIsInsideThePool) {
  StdThreads caller(4);
  static thread_local bool inside = false;
  caller.pool.is_inside = [](void *) -> int { return inside; };
  const ThreadPool pool = pool_of(caller);
  Call call(pool, 4);
  int sum = 0;
  inside = true;
  EXPECT_EQ(call(0, 9, [&](void *, int i) { return sum += i, 0; }), HCONV_OK);
  inside = false;
  EXPECT_EQ(sum, 36);
  EXPECT_EQ(caller.loops, 0);
  EXPECT_EQ(call(0, 9, [](void *, int) { return 0; }), HCONV_OK);
  EXPECT_EQ(caller.loops, 1);
}

TEST(ParallelLoop, ALoopInALoopAsksTheCallersPoolNoMore) {
  for (bool own : {false, true}) {
    StdThreads caller(6);
    const ThreadPool pool = own ? own_pool(6) : pool_of(caller);
    Call call(pool, 6);
    std::atomic<int> sum{0};
    EXPECT_EQ(call(0, 2,
                   [&](void *context, int i) {
                     return loop(context, 0, 10, [&](void *, int j) { return sum += 10 * i + j, 0; });
                   }),
              HCONV_OK);
    EXPECT_EQ(sum, 190);
    EXPECT_EQ(caller.loops, own ? 0 : 1);
  }
}

/// Blocks tasks until they are let go.
class Gate {
public:
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for(int waiting) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting; });
  }
  void open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

TEST(OwnPool, CallsOfAnOuterLoopShareTheThreads) {
  const ThreadPool pool = own_pool(3);
  own_lanes = 0;
  Gate gate;
  std::thread first([&] { Call(pool, 3)(0, 2, [&](void *, int) { return gate.pass(), 0; }); });
  gate.wait_for(2); // two of three threads compute
  int sum = 0;
  EXPECT_EQ(Call(pool, 3)(0, 9, [&](void *, int i) { return sum += i, 0; }), HCONV_OK);
  EXPECT_EQ(sum, 36);
  EXPECT_EQ(own_lanes, 2) << "the third one is the second call's own";
  gate.open();
  first.join();
  EXPECT_EQ(Call(pool, 3)(0, 9, [](void *, int) { return 0; }), HCONV_OK);
  EXPECT_EQ(own_lanes, 5) << "all have become free again";
}

TEST(OwnPool, ALoopGivesThreadsUpWhenOtherCallsCome) {
  const ThreadPool pool = own_pool(3);
  own_lanes = own_lanes_ended = 0;
  Gate started, gate;
  std::atomic<bool> enough{false};
  std::atomic<int> tasks{0};
  std::thread first([&] {
    Call(pool, 3)(0, 1 << 30, [&](void *, int) {
      if (++tasks <= 3)
        started.pass();
      std::this_thread::yield();
      return enough ? 1 : 0;
    });
  });
  started.wait_for(3); // all three threads
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t)
    others.emplace_back([&] { Call(pool, 3)(0, 2, [&](void *, int) { return gate.pass(), 0; }); });
  gate.wait_for(2);
  started.open();
  while (own_lanes_ended < 2)
    std::this_thread::yield();
  EXPECT_EQ(own_lanes_ended, 2) << "five threads are two too many";
  const int before = tasks;
  while (tasks < before + 10) // the third one goes on alone
    std::this_thread::yield();
  EXPECT_EQ(own_lanes_ended, 2);
  EXPECT_EQ(own_lanes, 3);
  enough = true;
  gate.open();
  first.join();
  for (std::thread &other : others)
    other.join();
}

TEST(Scratch, EachThreadHasItsOwnPiece) {
  constexpr int64_t piece = scratch_taken(4096) + scratch_taken(1000);
  for (bool own : {false, true}) {
    StdThreads caller(4);
    const ThreadPool pool = own ? own_pool(4) : pool_of(caller);
    Bytes workspace(4 * piece + scratch_alignment);
    Call call(pool, 4, workspace.data(), piece);
    const int64_t allocated = scratch_from_malloc();
    std::atomic<int> wrong{0};
    auto *outer = static_cast<char *>(halide_malloc(&call.run, 1000)); // of the call, while its loop runs
    std::memset(outer, 77, 1000);
    EXPECT_EQ(call(0, 64,
                   [&](void *context, int i) {
                     auto *memory = static_cast<char *>(halide_malloc(context, 4096));
                     wrong += reinterpret_cast<uintptr_t>(memory) % scratch_alignment != 0;
                     std::memset(memory, i, 4096);
                     std::this_thread::yield();
                     for (int byte = 0; byte < 4096; ++byte)
                       wrong += memory[byte] != i;
                     halide_free(context, memory);
                     return 0;
                   }),
              HCONV_OK);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(std::vector<char>(outer, outer + 1000), std::vector<char>(1000, 77));
    halide_free(&call.run, outer);
    EXPECT_EQ(scratch_from_malloc(), allocated);
  }
}

} // namespace
