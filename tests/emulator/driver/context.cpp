// Primary contexts and the per-thread context stack.
#include "state.h"

using namespace hconv::emulator;

namespace {

CUresult check_ready(CUdevice device) {
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  return device >= 0 && static_cast<size_t>(device) < state().devices.size() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUcontext create_context(int device) {
  State &s = state();
  const CUcontext context = s.contexts.add();
  context->device = device;
  context->id = s.next_context_id++;
  context->default_stream = s.streams.add();
  context->thread_default_stream = s.streams.add();
  for (CUstream stream : {context->default_stream, context->thread_default_stream}) {
    stream->context = context;
    stream->flags = CU_STREAM_DEFAULT;
  }
  return context;
}

} // namespace

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  HCONV_EMULATOR_ENTER(cuDevicePrimaryCtxRetain);
  HCONV_EMULATOR_TRY(check_ready(device));
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  PrimaryContext &primary = state().devices[static_cast<size_t>(device)];
  if (primary.retained == 0)
    primary.context = create_context(device);
  ++primary.retained;
  *context = primary.context;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  HCONV_EMULATOR_ENTER(cuDevicePrimaryCtxRelease_v2);
  HCONV_EMULATOR_TRY(check_ready(device));
  PrimaryContext &primary = state().devices[static_cast<size_t>(device)];
  if (primary.retained == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.retained == 0) {
    destroy_context(primary.context);
    primary.context = nullptr;
  }
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  HCONV_EMULATOR_ENTER(cuCtxGetCurrent);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = context_stack().empty() ? nullptr : context_stack().back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  HCONV_EMULATOR_ENTER(cuCtxSetCurrent);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (context && !state().contexts.has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  std::vector<CUcontext> &stack = context_stack();
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  HCONV_EMULATOR_ENTER(cuCtxPushCurrent_v2);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!state().contexts.has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  context_stack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  HCONV_EMULATOR_ENTER(cuCtxPopCurrent_v2);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  std::vector<CUcontext> &stack = context_stack();
  if (stack.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context)
    *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  HCONV_EMULATOR_ENTER(cuCtxGetDevice);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  if (context_stack().empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  *device = context_stack().back()->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
  HCONV_EMULATOR_ENTER(cuCtxGetId);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!id)
    return CUDA_ERROR_INVALID_VALUE;
  if (!context && !context_stack().empty())
    context = context_stack().back();
  if (!context || !state().contexts.has(context))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  HCONV_EMULATOR_ENTER(cuCtxSynchronize);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  return drain_context(context);
}

} // extern "C"
