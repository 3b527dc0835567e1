// AddressSanitizer must be told of every change of stack.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HCONV_EMULATOR_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define HCONV_EMULATOR_ASAN 0
#endif

/// For functions that leave a fiber for good, maybe on another stack than AddressSanitizer believes.
#define HCONV_EMULATOR_LEAVES_STACK __attribute__((no_sanitize("address")))

namespace hconv::emulator {

/// Before the switch: `save` keeps the left stack's state (null: it is never entered again), [low, low + size) is the
/// stack to be entered.
inline void before_switch([[maybe_unused]] void **save, [[maybe_unused]] const void *low,
                          [[maybe_unused]] size_t size) {
#if HCONV_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(save, low, size);
#endif
}

/// After the switch, on the entered stack: `saved` is what before_switch kept for it, null at its first entry. Where
/// to, the bounds of the stack that was left.
inline void after_switch([[maybe_unused]] void *saved, [[maybe_unused]] const void **left_low = nullptr,
                         [[maybe_unused]] size_t *left_size = nullptr) {
#if HCONV_EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(saved, left_low, left_size);
#endif
}

/// A stack that was left for good may still hold red zones of frames that never returned.
inline void forget_frames([[maybe_unused]] const void *low, [[maybe_unused]] size_t size) {
#if HCONV_EMULATOR_ASAN
  __asan_unpoison_memory_region(low, size);
#endif
}

} // namespace hconv::emulator
