#include "fake_cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <vector>

// Exported whatever the visibility preset says.
#pragma GCC visibility push(default)

struct FakeContext {
  int device;
  unsigned long long id;
};
struct FakeFunction {
  const FakeImage *image;
  FakeContext *context; ///< a function of one context must not be launched in another
};

namespace {

constexpr int devices = 2;
constexpr int invalid_value = 1, invalid_device = 101, invalid_context = 201, not_found = 500;

/// What is known of one exported function; names are compared as texts, and the table never allocates, so that a test
/// can count the allocations of hconv alone.
struct Entry {
  const char *name;
  int64_t calls;
  int result, failing_calls;
};

struct State {
  std::mutex mutex;
  Entry entries[64] = {};
  std::vector<FakeContext *> contexts;
  FakeContext *primary[devices] = {};
  int references[devices] = {};
  void *capturing = nullptr, *last_stream = nullptr, *last_context = nullptr;
  unsigned last_shared_bytes = 0;
  void *launch_streams[16] = {}; ///< of the last launches
  int64_t launches = 0;
  bool idle = false;
  int capability = 90;
  int64_t live = 0;
};
State &state() {
  static State &state = *new State;
  return state;
}
using Lock = std::lock_guard<std::mutex>;

thread_local std::vector<FakeContext *> stack;

FakeContext *current() {
  return stack.empty() ? nullptr : stack.back();
}

Entry &entry_of(const char *name) {
  for (Entry &e : state().entries) {
    if (!e.name)
      e.name = name;
    if (std::strcmp(e.name, name) == 0)
      return e;
  }
  std::abort(); // more functions than the table has room for
}

/// Counts a call; the result that it must fail with, or 0.
int enter(const char *name) {
  State &s = state();
  Lock lock(s.mutex);
  Entry &e = entry_of(name);
  ++e.calls;
  if (e.failing_calls == 0)
    return 0;
  --e.failing_calls;
  return e.result;
}

FakeContext *make_context(int device) {
  State &s = state();
  s.contexts.push_back(new FakeContext{device, s.contexts.size() + 1});
  return s.contexts.back();
}

int allocate(unsigned long long *memory, size_t bytes) {
  if (!current())
    return invalid_context;
  void *p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p)
    return 2;
  *memory = reinterpret_cast<uintptr_t>(p);
  Lock lock(state().mutex);
  ++state().live;
  return 0;
}

int release(unsigned long long memory) {
  std::free(reinterpret_cast<void *>(static_cast<uintptr_t>(memory)));
  Lock lock(state().mutex);
  --state().live;
  return 0;
}

int copy(void *to, const void *from, size_t bytes) {
  if (!current())
    return invalid_context;
  std::memcpy(to, from, bytes);
  return 0;
}
void *at(unsigned long long address) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

} // namespace

#define ENTER(name)                                                                                                    \
  if (int failure = enter(name))                                                                                       \
  return failure

extern "C" {

int64_t fake_cuda_calls(const char *name) {
  State &s = state();
  Lock lock(s.mutex);
  if (name)
    return entry_of(name).calls;
  int64_t sum = 0;
  for (const Entry &e : s.entries)
    sum += e.calls;
  return sum;
}
void fake_cuda_reset_calls() {
  Lock lock(state().mutex);
  for (Entry &e : state().entries)
    e = {e.name, 0, 0, 0};
  state().launches = 0;
}
void fake_cuda_fail(const char *name, int result, int times) {
  Lock lock(state().mutex);
  Entry &e = entry_of(name);
  e.result = result;
  e.failing_calls = times;
}
void *fake_cuda_make_context(int device) {
  Lock lock(state().mutex);
  return make_context(device);
}
void *fake_cuda_current() {
  return current();
}
void fake_cuda_set_current(void *context) {
  stack.clear();
  if (context)
    stack.push_back(static_cast<FakeContext *>(context));
}
int fake_cuda_primary_references(int device) {
  Lock lock(state().mutex);
  return state().references[device];
}
void fake_cuda_capture(void *stream) {
  state().capturing = stream;
}
void fake_cuda_set_capability(int capability) {
  State &s = state();
  Lock lock(s.mutex);
  s.capability = capability;
}
void fake_cuda_idle(bool idle) {
  state().idle = idle;
}
int64_t fake_cuda_launches_on(void *stream) {
  State &s = state();
  Lock lock(s.mutex);
  const int64_t known = std::min<int64_t>(s.launches, std::size(s.launch_streams));
  return std::count(s.launch_streams, s.launch_streams + known, stream);
}
void *fake_cuda_last_stream() {
  return state().last_stream;
}
void *fake_cuda_last_context() {
  return state().last_context;
}
unsigned fake_cuda_last_shared_bytes() {
  return state().last_shared_bytes;
}
int64_t fake_cuda_live_allocations() {
  Lock lock(state().mutex);
  return state().live;
}

int cuInit(unsigned) {
  ENTER("cuInit");
  return 0;
}
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = devices;
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  ENTER("cuDeviceGet");
  *device = ordinal;
  return ordinal >= 0 && ordinal < devices ? 0 : invalid_device;
}
int cuDeviceGetName(char *name, int length, int device) {
  ENTER("cuDeviceGetName");
  std::strncpy(name, device == 0 ? "Fake GPU 0" : "Fake GPU 1", static_cast<size_t>(length) - 1);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  State &s = state();
  Lock lock(s.mutex);
  switch (attribute) {
  case 16: // multiprocessors
    *value = 100;
    break;
  case 75: // major and minor of the compute capability
    *value = s.capability / 10;
    break;
  case 76:
    *value = s.capability % 10;
    break;
  default: // bytes of shared memory
    *value = 232448;
  }
  return 0;
}
int cuDevicePrimaryCtxRetain(FakeContext **context, int device) {
  ENTER("cuDevicePrimaryCtxRetain");
  State &s = state();
  Lock lock(s.mutex);
  if (!s.primary[device])
    s.primary[device] = make_context(device);
  ++s.references[device];
  *context = s.primary[device];
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER("cuDevicePrimaryCtxRelease_v2");
  State &s = state();
  Lock lock(s.mutex);
  if (--s.references[device] == 0)
    s.primary[device] = nullptr; // the next retain makes a new context, with a new id
  return 0;
}
int cuCtxGetCurrent(FakeContext **context) {
  ENTER("cuCtxGetCurrent");
  *context = current();
  return 0;
}
int cuCtxPushCurrent_v2(FakeContext *context) {
  ENTER("cuCtxPushCurrent_v2");
  stack.push_back(context);
  return 0;
}
int cuCtxPopCurrent_v2(FakeContext **context) {
  ENTER("cuCtxPopCurrent_v2");
  if (stack.empty())
    return invalid_context;
  *context = stack.back();
  stack.pop_back();
  return 0;
}
int cuCtxGetDevice(int *device) {
  ENTER("cuCtxGetDevice");
  if (!current())
    return invalid_context;
  *device = current()->device;
  return 0;
}
int cuCtxGetId(FakeContext *context, unsigned long long *id) {
  ENTER("cuCtxGetId");
  *id = context->id;
  return 0;
}
int cuCtxSynchronize() {
  return 0;
}
int cuModuleLoadData(void **module, const void *image) {
  ENTER("cuModuleLoadData");
  if (!current())
    return invalid_context;
  *module = new FakeFunction{static_cast<const FakeImage *>(image), current()};
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTER("cuModuleGetFunction");
  *function = module;
  return std::strcmp(name, "fake_kernel") == 0 ? 0 : not_found;
}
int cuFuncSetAttribute(void *, int, int) {
  ENTER("cuFuncSetAttribute");
  return 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned, unsigned, unsigned, unsigned shared,
                   void *stream, void **parameters, void **) {
  ENTER("cuLaunchKernel");
  const FakeFunction *f = static_cast<const FakeFunction *>(function);
  if (gx == 0 || gy == 0 || gz == 0 || gy > 65535 || gz > 65535)
    return invalid_value;
  if (f->context != current())
    return invalid_context;
  {
    Lock lock(state().mutex);
    state().last_stream = stream;
    state().launch_streams[state().launches++ % std::size(state().launch_streams)] = stream;
    state().last_context = current();
    state().last_shared_bytes = shared;
  }
  if (!state().idle)
    f->image->run(parameters);
  return 0;
}
int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  return allocate(memory, bytes);
}
int cuMemFree_v2(unsigned long long memory) {
  ENTER("cuMemFree_v2");
  return release(memory);
}
int cuMemAllocAsync(unsigned long long *memory, size_t bytes, void *) {
  ENTER("cuMemAllocAsync");
  return allocate(memory, bytes);
}
int cuMemFreeAsync(unsigned long long memory, void *) {
  ENTER("cuMemFreeAsync");
  return release(memory);
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *) {
  ENTER("cuMemcpyHtoDAsync_v2");
  return copy(at(to), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *) {
  ENTER("cuMemcpyDtoHAsync_v2");
  return copy(to, at(from), bytes);
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *) {
  ENTER("cuMemcpyDtoDAsync_v2");
  return copy(at(to), at(from), bytes);
}
int cuStreamSynchronize(void *) {
  ENTER("cuStreamSynchronize");
  return 0;
}
int cuStreamIsCapturing(void *stream, int *status) {
  *status = stream && stream == state().capturing ? 1 : 0;
  return 0;
}
int cuGetErrorName(int error, const char **name) {
  *name = error == invalid_value ? "CUDA_ERROR_INVALID_VALUE" : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR";
  return 0;
}
int cuGetErrorString(int, const char **string) {
  *string = "a failure that the test asked for";
  return 0;
}
}
