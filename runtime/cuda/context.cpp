#include "cuda/context.h"

#include "error.h"

namespace hconv::runtime::cuda {
namespace {

/// The thread's current context if it belongs to device `ordinal`, else null.
Context current_on(int ordinal) {
  const Driver &d = driver();
  Context current = nullptr;
  Device found = -1, wanted = -1;
  if (d.context_current(&current) != success || !current)
    return nullptr;
  if (d.context_device(&found) != success || d.device_get(&wanted, ordinal) != success || found != wanted)
    return nullptr;
  return current;
}

} // namespace

hconv_status acquire_context(int ordinal, ContextRef *context) {
  *context = {};
  if (hconv_status bad = require_device(ordinal))
    return bad;
  const Driver &d = driver();
  context->ordinal = ordinal;
  context->handle = current_on(ordinal);
  if (!context->handle) {
    Device device = 0;
    if (hconv_status bad = check(d.device_get(&device, ordinal), "cuDeviceGet"))
      return bad;
    if (hconv_status bad = check(d.primary_retain(&context->handle, device), "cuDevicePrimaryCtxRetain"))
      return bad;
    context->retained = true;
  }
  const hconv_status bad = check(d.context_id(context->handle, &context->id), "cuCtxGetId");
  if (bad)
    release_context(context);
  return bad;
}

void release_context(ContextRef *context) {
  Device device = 0;
  if (context->retained && driver().device_get(&device, context->ordinal) == success)
    driver().primary_release(device);
  *context = {};
}

unsigned long long current_context_id(int ordinal) {
  unsigned long long id = 0;
  Context current = current_on(ordinal);
  return current && driver().context_id(current, &id) == success ? id : 0;
}

ContextScope::ContextScope(Context context) {
  const Driver &d = driver();
  Context current = nullptr;
  result_ = d.context_current(&current);
  if (result_ == success && current != context) {
    result_ = d.context_push(context);
    pushed_ = result_ == success;
  }
}

ContextScope::~ContextScope() {
  Context popped;
  if (pushed_)
    driver().context_pop(&popped);
}

} // namespace hconv::runtime::cuda
