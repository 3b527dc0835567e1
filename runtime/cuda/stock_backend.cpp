// Hooks of Halide's stock CUDA runtime (HCONV_BACKEND=halide_ptx): it works in the context and on the stream of the
// current hconv call, and with the driver library that hconv loaded. Strong definitions in place of its weak ones;
// calls that belong to other Halide code of the program go to Halide's own.
#include <dlfcn.h>

#include "HalideRuntime.h"
#include "cuda/driver.h"
#include "run_context.h"

using hconv::runtime::RunContext;

extern "C" {

// Null in a build whose Halide runtime has no CUDA part.
int halide_default_cuda_acquire_context(void *user_context, void **context, bool create) __attribute__((weak));
int halide_default_cuda_release_context(void *user_context) __attribute__((weak));
int halide_default_cuda_get_stream(void *user_context, void *context, void **stream) __attribute__((weak));

int halide_cuda_acquire_context(void *user_context, void **context, bool create) {
  if (RunContext *run = RunContext::from(user_context)) {
    *context = run->context;
    return 0;
  }
  *context = nullptr;
  return halide_default_cuda_acquire_context ? halide_default_cuda_acquire_context(user_context, context, create) : 0;
}

int halide_cuda_release_context(void *user_context) {
  if (RunContext::from(user_context) || !halide_default_cuda_release_context)
    return 0;
  return halide_default_cuda_release_context(user_context);
}

int halide_cuda_get_stream(void *user_context, void *context, void **stream) {
  if (RunContext *run = RunContext::from(user_context)) {
    *stream = run->stream;
    return 0;
  }
  *stream = nullptr;
  return halide_default_cuda_get_stream ? halide_default_cuda_get_stream(user_context, context, stream) : 0;
}

void *halide_cuda_get_symbol(void *, const char *name) {
  const hconv::runtime::cuda::Driver &driver = hconv::runtime::cuda::driver();
  return driver.library ? dlsym(driver.library, name) : nullptr;
}
}
