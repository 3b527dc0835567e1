#include "state.h"

#include "../engine/log.h"

namespace hconv::emulator {

State &state() {
  static State *const instance = new State; // never destroyed: static destructors of the program may still call
  return *instance;
}

std::vector<CUcontext> &context_stack() {
  static thread_local std::vector<CUcontext> stack;
  return stack;
}

CUresult current_context(CUcontext *context) {
  State &s = state();
  if (!s.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  const std::vector<CUcontext> &stack = context_stack();
  if (stack.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!s.contexts.has(stack.back()))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *context = stack.back();
  return (*context)->stuck_error;
}

void destroy_context(CUcontext context) {
  State &s = state();
  drain_context(context);
  arena_of(context->device).release_all_of(context);
  for (CUfunction function : s.functions.all()) {
    if (function->module->context == context)
      s.functions.remove(function);
  }
  for (CUmodule module : s.modules.all()) {
    if (module->context == context)
      s.modules.remove(module);
  }
  for (CUstream stream : s.streams.all()) {
    if (stream->context == context)
      s.streams.remove(stream);
  }
  for (CUevent event : s.events.all()) {
    if (event->context == context)
      s.events.remove(event);
  }
  s.contexts.remove(context);
}

CUresult resolve_stream(CUstream handle, CUcontext current, CUstream *stream) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 1)
    *stream = current->default_stream;
  else if (number == 2)
    *stream = current->thread_default_stream;
  else if (state().streams.has(handle))
    *stream = handle;
  else
    return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

CUresult stick(CUcontext context, CUresult error, const std::string &text) {
  report(text);
  if (context->stuck_error == CUDA_SUCCESS)
    context->stuck_error = error;
  return error;
}

CUresult drain(CUstream stream) {
  while (!stream->queue.empty()) {
    const std::function<CUresult()> work = std::move(stream->queue.front());
    stream->queue.pop_front();
    if (stream->context->stuck_error == CUDA_SUCCESS)
      work();
  }
  return stream->context->stuck_error;
}

CUresult drain_context(CUcontext context) {
  for (CUstream stream : state().streams.all()) {
    if (stream->context == context)
      drain(stream);
  }
  return context->stuck_error;
}

CUresult submit(CUstream stream, std::function<CUresult()> work) {
  const CUcontext context = stream->context;
  // The default stream and the blocking ones wait for each other's earlier work.
  if (stream == context->default_stream) {
    for (CUstream other : state().streams.all()) {
      if (other->context == context && other != stream && !(other->flags & CU_STREAM_NON_BLOCKING))
        HCONV_EMULATOR_TRY(drain(other));
    }
  } else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
    HCONV_EMULATOR_TRY(drain(context->default_stream));
  }
  stream->queue.push_back(std::move(work));
  return state().settings.lazy_streams ? CUDA_SUCCESS : drain(stream);
}

} // namespace hconv::emulator
