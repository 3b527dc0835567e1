// What the emulated driver keeps: contexts, streams, events, modules, functions.
//
// One lock is held through each driver call, kernels included, so calls of several host threads run one after the
// other. Objects are never freed and their addresses never reused: a stale handle is recognised.
#pragma once

#include "cuda_api.h"

#include "../device/devices.h"
#include "../engine/kernel_registry.h"
#include "../engine/settings.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct CUctx_st {
  int device;
  unsigned long long id;
  CUresult stuck_error = CUDA_SUCCESS; ///< after a failed kernel, what every later call in this context returns
  CUstream default_stream, thread_default_stream;
};

struct CUstream_st {
  CUcontext context;
  unsigned flags;
  std::deque<std::function<CUresult()>> queue; ///< work not yet done; always empty with eager streams
};

struct CUevent_st {
  CUcontext context;
  unsigned flags;
  CUstream stream = nullptr; ///< of the newest record
  int records_under_way = 0;
  bool complete = false;
  std::chrono::steady_clock::time_point time;
};

struct CUmod_st {
  CUcontext context;
};

struct CUfunc_st {
  CUmodule module;
  const hconv::emulator::Kernel *kernel;
  int max_dynamic_shared_bytes = 48 << 10;
  int preferred_carveout = -1;
};

namespace hconv::emulator {

/// Handles of one kind that are alive.
template <typename Object> class Handles {
public:
  template <typename... Values> Object *add(Values &&...values) {
    objects_.push_back(Object{std::forward<Values>(values)...});
    live_.insert(&objects_.back());
    return &objects_.back();
  }
  bool has(const Object *object) const { return live_.count(object) != 0; }
  void remove(const Object *object) { live_.erase(object); }
  std::vector<Object *> all() {
    std::vector<Object *> result;
    for (Object &object : objects_) {
      if (has(&object))
        result.push_back(&object);
    }
    return result;
  }

private:
  std::deque<Object> objects_;
  std::set<const Object *> live_;
};

struct PrimaryContext {
  CUcontext context = nullptr;
  int retained = 0;
};

struct LastLaunch {
  const Kernel *kernel;
  CUstream stream;
  int device;
  twin::Index3 grid, block;
  unsigned shared_bytes;
};

struct State {
  std::recursive_mutex mutex;
  bool initialized = false;
  Settings settings;
  std::vector<PrimaryContext> devices;
  Handles<CUctx_st> contexts;
  Handles<CUstream_st> streams;
  Handles<CUevent_st> events;
  Handles<CUmod_st> modules;
  Handles<CUfunc_st> functions;
  unsigned long long next_context_id = 1;
  uint64_t launches = 0;
  std::optional<LastLaunch> last_launch;
  std::map<CUstream, CUstreamCaptureStatus> capture_status;
};

State &state();

/// The calling thread's stack of contexts.
std::vector<CUcontext> &context_stack();

/// Top of the stack: CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED, or the
/// context's stuck error.
CUresult current_context(CUcontext *context);

/// Destroys what belongs to the context: memory, modules, streams, events.
void destroy_context(CUcontext context);

/// The stream behind a handle as the caller gives it: null and 1 are the current context's default stream, 2 the
/// thread's. CUDA_ERROR_INVALID_HANDLE for anything that is no live stream.
CUresult resolve_stream(CUstream handle, CUcontext current, CUstream *stream);

/// Puts work on a stream, in order behind what it must wait for; runs it at once with eager streams. An error of the
/// work sticks to the context.
CUresult submit(CUstream stream, std::function<CUresult()> work);

/// Does all work of the stream, or of all streams of the context.
CUresult drain(CUstream stream);
CUresult drain_context(CUcontext context);

/// A failure that sticks to the context, with its text on stderr.
CUresult stick(CUcontext context, CUresult error, const std::string &text);

/// Counts the call and returns the injected failure, if one is due.
CUresult enter(const char *function);

} // namespace hconv::emulator

/// First line of every driver function: takes the lock, counts, and returns an injected failure.
#define HCONV_EMULATOR_ENTER(function)                                                                                 \
  const std::lock_guard<std::recursive_mutex> hconv_lock(::hconv::emulator::state().mutex);                            \
  if (const CUresult hconv_injected = ::hconv::emulator::enter(#function))                                             \
  return hconv_injected

#define HCONV_EMULATOR_TRY(expression)                                                                                 \
  do {                                                                                                                 \
    if (const CUresult hconv_error = (expression))                                                                     \
      return hconv_error;                                                                                              \
  } while (false)
