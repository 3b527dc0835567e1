// What travels through Halide's user_context: one object on the stack for each call of an ahead-of-time function.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/driver_api.h"
#include "hconv/hconv.h"

namespace hconv::runtime {

class RunContext {
public:
  RunContext() = default;
  RunContext(cuda::Context context, unsigned long long context_id, cuda::Stream stream, bool load_only)
      : context(context), context_id(context_id), stream(stream), load_only(load_only) {}

  /// The run context behind a user_context, or null if it is not one of ours (a program may link other Halide code).
  static RunContext *from(const void *user_context);

  /// Keeps the first failure; later ones, perhaps of other worker threads, are dropped. Never allocates or throws.
  [[gnu::format(printf, 3, 4)]] void report(hconv_status status, const char *format, ...);

  /// Turns an ahead-of-time function's result into a status, with the sentence reported meanwhile.
  hconv_status finish(int result, const char *function);

private:
  static constexpr uint64_t mark = 0x68636f6e762e7263; // "hconv.rc"
  uint64_t mark_ = mark;

public:
  cuda::Context context = nullptr; ///< current for the whole call; null on the CPU
  unsigned long long context_id = 0;
  cuda::Stream stream = nullptr;
  bool load_only = false; ///< kernels are loaded but not launched

private:
  std::atomic<bool> failed_{false};
  hconv_status status_ = HCONV_OK;
  char text_[512] = "";
};

} // namespace hconv::runtime
