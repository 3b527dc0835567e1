#include "error.h"

#include <cstdarg>
#include <cstdio>

#include "log.h"

namespace hconv::runtime {
namespace {

// A plain array, not a std::string: a static destructor may call hconv after the thread's locals have been destroyed.
thread_local char last_text[1024];

} // namespace

hconv_status fail(hconv_status status, const char *format, ...) {
  // The arguments may point into last_text itself, so the sentence is built apart.
  char sentence[sizeof last_text];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  std::snprintf(last_text, sizeof last_text, "%s", sentence);
  log(LogLevel::error, "%s: %s", hconv_status_text(status), last_text);
  return status;
}

const char *last_error() {
  return last_text;
}

std::string text(const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string result(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  std::vsnprintf(result.data(), result.size() + 1, format, again);
  va_end(again);
  return result;
}

} // namespace hconv::runtime

extern "C" {

const char *hconv_status_text(hconv_status status) {
  switch (status) {
  case HCONV_OK:
    return "success";
  case HCONV_INVALID_ARGUMENT:
    return "invalid argument";
  case HCONV_UNSUPPORTED:
    return "unsupported";
  case HCONV_NO_DEVICE:
    return "no such device";
  case HCONV_OUT_OF_MEMORY:
    return "out of memory";
  case HCONV_DEVICE_ERROR:
    return "device error";
  case HCONV_INTERNAL_ERROR:
    return "internal error";
  }
  return "unknown status";
}

const char *hconv_last_error(void) {
  return hconv::runtime::last_error();
}

#define HCONV_TEXT_OF(x) #x
#define HCONV_VERSION_TEXT(major, minor, patch) HCONV_TEXT_OF(major) "." HCONV_TEXT_OF(minor) "." HCONV_TEXT_OF(patch)
const char *hconv_version(void) {
  return HCONV_VERSION_TEXT(HCONV_VERSION_MAJOR, HCONV_VERSION_MINOR, HCONV_VERSION_PATCH);
}
}
