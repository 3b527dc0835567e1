#include "cuda_timer.h"

#include "cuda/context.h"
#include "cuda/driver.h"
#include "failure.h"

#include <dlfcn.h>

namespace hconv::cli {

namespace cuda = hconv::runtime::cuda;

namespace {

using Event = struct EventTag *;

/** Only this command needs these, so they are looked up in the library that the runtime has opened. */
struct Functions {
  cuda::Result (*event_create)(Event *event, unsigned flags);
  cuda::Result (*event_destroy)(Event event);
  cuda::Result (*event_record)(Event event, cuda::Stream stream);
  cuda::Result (*event_synchronize)(Event event);
  cuda::Result (*event_elapsed)(float *milliseconds, Event start, Event stop);
  cuda::Result (*memset_async)(cuda::DevicePointer memory, unsigned char value, size_t bytes, cuda::Stream stream);
};

template <typename F> void look_up(F &function, std::initializer_list<const char *> names) {
  for (const char *name : names) {
    function = reinterpret_cast<F>(dlsym(cuda::driver().library, name));
    if (function != nullptr) {
      return;
    }
  }
  throw Failure(EXIT_DEVICE, std::string("timing: the CUDA driver library has no function ") + *names.begin() + ".");
}

Functions functions() {
  Functions f = {};
  look_up(f.event_create, {"cuEventCreate"});
  look_up(f.event_destroy, {"cuEventDestroy_v2"});
  look_up(f.event_record, {"cuEventRecord"});
  look_up(f.event_synchronize, {"cuEventSynchronize"});
  look_up(f.event_elapsed, {"cuEventElapsedTime_v2", "cuEventElapsedTime"});
  look_up(f.memset_async, {"cuMemsetD8Async"});
  return f;
}

} // namespace

struct CudaTimer::State {
  Functions call = functions();
  cuda::ContextRef context;
  Event begin = nullptr, end = nullptr;

  ~State() {
    if (context.handle != nullptr) {
      const cuda::ContextScope scope(context.handle);
      for (const Event event : {begin, end}) {
        if (event != nullptr) {
          call.event_destroy(event);
        }
      }
      cuda::release_context(&context);
    }
  }

  /** Calls the driver with the context current. */
  template <typename F> void in_context(const char *name, F action) {
    const cuda::ContextScope scope(context.handle);
    check(cuda::check(scope.result(), "cuCtxPushCurrent"), "timing");
    check(cuda::check(action(), name), "timing");
  }
};

CudaTimer::CudaTimer(int ordinal) : state(std::make_unique<State>()) {
  check(cuda::acquire_context(ordinal, &state->context), "timing");
  for (Event *event : {&state->begin, &state->end}) {
    state->in_context("cuEventCreate", [&] { return state->call.event_create(event, 0); });
  }
}

CudaTimer::~CudaTimer() = default;

void CudaTimer::start_clearing(void *memory, size_t bytes) {
  const cuda::DevicePointer address = reinterpret_cast<uintptr_t>(memory);
  state->in_context("cuMemsetD8Async", [&] { return state->call.memset_async(address, 0, bytes, nullptr); });
}

void CudaTimer::start() {
  state->in_context("cuEventRecord", [&] { return state->call.event_record(state->begin, nullptr); });
}

void CudaTimer::stop() {
  state->in_context("cuEventRecord", [&] { return state->call.event_record(state->end, nullptr); });
}

double CudaTimer::milliseconds() {
  state->in_context("cuEventSynchronize", [&] { return state->call.event_synchronize(state->end); });
  float elapsed = 0;
  state->in_context("cuEventElapsedTime",
                    [&] { return state->call.event_elapsed(&elapsed, state->begin, state->end); });
  return static_cast<double>(elapsed);
}

} // namespace hconv::cli
