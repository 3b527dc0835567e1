// Status codes with sentences: every failure of the C API goes through fail().
#pragma once

#include <exception>
#include <new>
#include <string>

#include "hconv/hconv.h"

namespace hconv::runtime {

/// Stores a printf-formatted sentence as the calling thread's last error, logs it, and returns `status`.
[[gnu::format(printf, 2, 3)]] hconv_status fail(hconv_status status, const char *format, ...);

/// The calling thread's last sentence, "" after none.
const char *last_error();

/// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string text(const char *format, ...);

/// An int64_t for %lld in any of these.
inline long long wide(int64_t value) {
  return value;
}

/// Runs `body` (which returns hconv_status) so that no C++ exception leaves the C API.
template <class Body> hconv_status guarded(Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(HCONV_OUT_OF_MEMORY, "The host has no memory left for hconv's own bookkeeping.");
  } catch (const std::exception &error) {
    return fail(HCONV_INTERNAL_ERROR, "hconv met an unexpected C++ exception: %s.", error.what());
  } catch (...) {
    return fail(HCONV_INTERNAL_ERROR, "hconv met an unexpected C++ exception of unknown type.");
  }
}

} // namespace hconv::runtime
