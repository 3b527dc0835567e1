#include "failure.h"

#include <vector>

namespace hconv::cli {

ExitCode exit_code_of(hconv_status status) {
  switch (status) {
  case HCONV_OK:
    return EXIT_OK;
  case HCONV_INVALID_ARGUMENT:
    return EXIT_USAGE;
  case HCONV_UNSUPPORTED:
    return EXIT_UNSUPPORTED;
  case HCONV_NO_DEVICE:
    return EXIT_NO_DEVICE;
  case HCONV_OUT_OF_MEMORY:
  case HCONV_DEVICE_ERROR:
  case HCONV_INTERNAL_ERROR:
    return EXIT_DEVICE;
  }
  return EXIT_DEVICE;
}

void check(hconv_status status, const std::string &doing) {
  if (status == HCONV_OK) {
    return;
  }
  std::string reason = hconv_last_error();
  if (reason.empty()) {
    reason = hconv_status_text(status);
  }
  throw Failure(exit_code_of(status), doing + ": " + reason);
}

std::string text_of(const std::function<hconv_status(char *text, size_t *size)> &fill, const std::string &doing) {
  std::vector<char> buffer(16 * 1024);
  for (;;) {
    size_t size = buffer.size();
    const hconv_status status = fill(buffer.data(), &size);
    if (status == HCONV_INVALID_ARGUMENT && size > buffer.size()) {
      buffer.resize(size);
      continue;
    }
    check(status, doing);
    return std::string(buffer.data());
  }
}

} // namespace hconv::cli
