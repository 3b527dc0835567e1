#include "run_context.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "HalideRuntime.h"
#include "error.h"
#include "log.h"

namespace hconv::runtime {

Lane *Lane::from(const void *user_context) {
  if (!user_context)
    return nullptr;
  // The object is never const in truth: Halide passes user_context through as a pointer to const.
  Lane *lane = static_cast<Lane *>(const_cast<void *>(user_context));
  return lane->mark_ == mark ? lane : nullptr;
}

RunContext *RunContext::from(const void *user_context) {
  const Lane *lane = Lane::from(user_context);
  return lane ? lane->run() : nullptr;
}

void RunContext::use_threads(const ThreadPool &threads_of, int count, const CpuTasks *cut, void *workspace,
                             int64_t bytes) {
  pool = &threads_of;
  threads = count;
  tasks = cut;
  if (bytes == 0)
    return;
  const uintptr_t unit = scratch_alignment, address = reinterpret_cast<uintptr_t>(workspace);
  pieces_ = static_cast<char *>(workspace) + (unit - address % unit) % unit;
  piece_bytes_ = bytes;
  scratch = piece(0);
}

ScratchStack RunContext::piece(int32_t which) const {
  return piece_bytes_ ? ScratchStack(pieces_ + which * piece_bytes_, piece_bytes_) : ScratchStack();
}

void RunContext::report(hconv_status status, const char *format, ...) {
  if (failed_.exchange(true))
    return;
  status_ = status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text_, sizeof text_, format, arguments);
  va_end(arguments);
}

// The function has returned, so every worker that could report has been joined.
hconv_status RunContext::finish(int result, const char *function) {
  if (result == 0 && !failed_.load())
    return HCONV_OK;
  if (failed_.load())
    return fail(status_, "%s", text_);
  const hconv_status status = result == halide_error_code_out_of_memory ? HCONV_OUT_OF_MEMORY : HCONV_INTERNAL_ERROR;
  return fail(status, "The compiled function %s failed with Halide error code %d.", function, result);
}

} // namespace hconv::runtime

// Strong definitions in place of the Halide runtime's weak ones: the default error handler aborts the process.
extern "C" {

void halide_error(void *user_context, const char *message) {
  using namespace hconv::runtime;
  if (RunContext *context = RunContext::from(user_context))
    context->report(std::strstr(message, "out of memory") ? HCONV_OUT_OF_MEMORY : HCONV_INTERNAL_ERROR,
                    "Halide reports: %s", message);
  else
    log(LogLevel::error, "Halide reports outside of an hconv call: %s", message);
}

void halide_print(void *, const char *message) {
  hconv::runtime::log(hconv::runtime::LogLevel::debug, "%s", message);
}
}
