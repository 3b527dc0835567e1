// A pretended CUDA driver for the runtime's unit tests: a shared library with the exported names of the real one,
// device memory that is host memory, counted calls and failures on demand. Its "fatbin" is a FakeImage.
#pragma once

#include <cstddef>
#include <cstdint>

/// What cuModuleLoadData gets: `run` is called by cuLaunchKernel with the kernel's parameters.
struct FakeImage {
  void (*run)(void **parameters);
};

extern "C" {
/// Calls of the exported function `name` since the last reset, by all threads; `name` null: of all functions together.
int64_t fake_cuda_calls(const char *name);
void fake_cuda_reset_calls();
/// The next `times` calls of `name` return `result` and do nothing else.
void fake_cuda_fail(const char *name, int result, int times);
/// Makes a context on a device, as a program of its own would; not current anywhere.
void *fake_cuda_make_context(int device);
/// The calling thread's current context, uncounted.
void *fake_cuda_current();
void fake_cuda_set_current(void *context);
/// References that are held to the primary context of a device.
int fake_cuda_primary_references(int device);
/// Streams are plain numbers; cuStreamIsCapturing answers yes for this one.
void fake_cuda_capture(void *stream);
/// The compute capability that devices answer, 10 * major + minor; 90 at first.
void fake_cuda_set_capability(int capability);
/// While idle, launches are accepted and counted, but nothing is computed.
void fake_cuda_idle(bool idle);
/// Launches on a stream since the last reset.
int64_t fake_cuda_launches_on(void *stream);
/// The stream, context and dynamic shared memory of the last launch.
void *fake_cuda_last_stream();
void *fake_cuda_last_context();
unsigned fake_cuda_last_shared_bytes();
/// Allocations that have not been freed.
int64_t fake_cuda_live_allocations();
}
