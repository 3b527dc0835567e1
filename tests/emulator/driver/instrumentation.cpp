// Call counts, injected failures and the other test hooks.
#include "hconv_emulator.h"

#include "state.h"

#include "../engine/log.h"

#include <cstring>

namespace hconv::emulator {
namespace {

struct PendingFailure {
  int error;
  int skip;
};

/// A lock of its own: hooks may be called while another thread's kernel runs.
struct Instrumentation {
  std::mutex mutex;
  std::map<std::string, long> calls;
  std::map<std::string, std::vector<PendingFailure>> failures;
};

Instrumentation &instrumentation() {
  static Instrumentation *const instance = new Instrumentation; // never destroyed
  return *instance;
}

std::string without_version(const char *function) {
  std::string name = function;
  const size_t length = name.size();
  if (length > 3 && name.compare(length - 3, 3, "_v2") == 0)
    name.resize(length - 3);
  return name;
}

} // namespace

CUresult enter(const char *function) {
  Instrumentation &in = instrumentation();
  const std::lock_guard<std::mutex> lock(in.mutex);
  const std::string name = without_version(function);
  ++in.calls[name];
  const auto found = in.failures.find(name);
  if (found == in.failures.end())
    return CUDA_SUCCESS;
  std::vector<PendingFailure> &pending = found->second;
  for (auto failure = pending.begin(); failure != pending.end(); ++failure) {
    if (failure->skip > 0) {
      --failure->skip;
      continue;
    }
    const auto error = static_cast<CUresult>(failure->error);
    // The failures behind this one count the call as well.
    for (auto later = failure + 1; later != pending.end(); ++later)
      later->skip -= later->skip > 0;
    pending.erase(failure);
    return error;
  }
  return CUDA_SUCCESS;
}

} // namespace hconv::emulator

using namespace hconv::emulator;

extern "C" {

HCONV_EXPORTED void hconv_emulator_fail_next(const char *function, int error, int skip) {
  Instrumentation &in = instrumentation();
  const std::lock_guard<std::mutex> lock(in.mutex);
  in.failures[without_version(function)].push_back({error, skip});
}

HCONV_EXPORTED long hconv_emulator_call_count(const char *function) {
  Instrumentation &in = instrumentation();
  const std::lock_guard<std::mutex> lock(in.mutex);
  if (function) {
    const auto found = in.calls.find(without_version(function));
    return found == in.calls.end() ? 0 : found->second;
  }
  long total = 0;
  for (const auto &[name, count] : in.calls)
    total += count;
  return total;
}

HCONV_EXPORTED void hconv_emulator_reset(void) {
  State &s = state();
  const std::lock_guard<std::recursive_mutex> state_lock(s.mutex);
  reload_settings();
  for (CUstream stream : s.streams.all())
    drain(stream);
  s.settings = settings();
  s.launches = 0;
  s.last_launch.reset();
  s.capture_status.clear();
  for (CUcontext context : s.contexts.all())
    context->stuck_error = CUDA_SUCCESS;
  clear_last_message();
  Instrumentation &in = instrumentation();
  const std::lock_guard<std::mutex> lock(in.mutex);
  in.calls.clear();
  in.failures.clear();
}

HCONV_EXPORTED size_t hconv_emulator_live_allocations(void) {
  State &s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  size_t count = 0;
  for (size_t device = 0; device < s.devices.size(); ++device)
    count += arena_of(static_cast<int>(device)).live_count();
  return count;
}

HCONV_EXPORTED size_t hconv_emulator_last_message(char *text, size_t capacity) {
  const std::string message = last_message();
  if (text && capacity > 0) {
    const size_t length = message.size() < capacity ? message.size() : capacity - 1;
    std::memcpy(text, message.data(), length);
    text[length] = '\0';
  }
  return message.size();
}

HCONV_EXPORTED int hconv_emulator_last_launch(hconv_emulator_launch *launch) {
  State &s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  if (!s.last_launch)
    return 0;
  const LastLaunch &last = *s.last_launch;
  *launch = {last.kernel->name,
             last.stream,
             last.device,
             {last.grid.x, last.grid.y, last.grid.z},
             {last.block.x, last.block.y, last.block.z},
             last.shared_bytes};
  return 1;
}

HCONV_EXPORTED void hconv_emulator_set_capture_status(void *stream, int status) {
  State &s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  s.capture_status[static_cast<CUstream>(stream)] = static_cast<CUstreamCaptureStatus>(status);
}

} // extern "C"
