// Streams and events.
#include "state.h"

using namespace hconv::emulator;

namespace {

bool owned_by_context(CUstream stream) {
  return stream == stream->context->default_stream || stream == stream->context->thread_default_stream;
}

CUresult elapsed(float *milliseconds, CUevent start, CUevent end) {
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!milliseconds)
    return CUDA_ERROR_INVALID_VALUE;
  for (const CUevent event : {start, end}) {
    if (!state().events.has(event) || !event->stream || (event->flags & CU_EVENT_DISABLE_TIMING))
      return CUDA_ERROR_INVALID_HANDLE;
  }
  if (start->context != end->context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start->complete || !end->complete)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  HCONV_EMULATOR_ENTER(cuStreamCreate);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!stream || flags > CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;
  *stream = state().streams.add();
  (*stream)->context = context;
  (*stream)->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  HCONV_EMULATOR_ENTER(cuStreamDestroy_v2);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!state().streams.has(stream) || owned_by_context(stream))
    return CUDA_ERROR_INVALID_HANDLE;
  drain(stream);
  state().streams.remove(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  HCONV_EMULATOR_ENTER(cuStreamSynchronize);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  return drain(stream);
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  HCONV_EMULATOR_ENTER(cuStreamIsCapturing);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  const auto found = state().capture_status.find(handle);
  *status = found == state().capture_status.end() ? CU_STREAM_CAPTURE_STATUS_NONE : found->second;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  HCONV_EMULATOR_ENTER(cuEventCreate);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!event || flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
    return CUDA_ERROR_INVALID_VALUE;
  *event = state().events.add();
  (*event)->context = context;
  (*event)->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  HCONV_EMULATOR_ENTER(cuEventDestroy_v2);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!state().events.has(event))
    return CUDA_ERROR_INVALID_HANDLE;
  state().events.remove(event); // a record under way still finds the object: it is never freed
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  HCONV_EMULATOR_ENTER(cuEventRecord);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (!state().events.has(event) || event->context != stream->context)
    return CUDA_ERROR_INVALID_HANDLE;
  event->stream = stream;
  event->complete = false;
  ++event->records_under_way;
  return submit(stream, [event] {
    // Only the newest record counts.
    if (--event->records_under_way == 0) {
      event->time = std::chrono::steady_clock::now();
      event->complete = true;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuEventSynchronize(CUevent event) {
  HCONV_EMULATOR_ENTER(cuEventSynchronize);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!state().events.has(event))
    return CUDA_ERROR_INVALID_HANDLE;
  return event->stream ? drain(event->stream) : CUDA_SUCCESS; // never recorded: nothing to wait for
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  HCONV_EMULATOR_ENTER(cuEventElapsedTime);
  return elapsed(milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
  HCONV_EMULATOR_ENTER(cuEventElapsedTime_v2);
  return elapsed(milliseconds, start, end);
}

} // extern "C"
