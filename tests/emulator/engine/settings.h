// The HCONV_EMULATOR_* environment, read at first use and again by hconv_emulator_reset().
#pragma once

#include <cstddef>
#include <cstdint>

namespace hconv::emulator {

/// When the data of a cp.async lands. Mixed lets each copy land at once or at the wait, at random.
enum class CopyTiming { mixed, early, late };

struct Settings {
  int devices = 1;                                ///< HCONV_EMULATOR_DEVICES, 0 to 64; fixed at the first read
  int threads = 1;                                ///< HCONV_EMULATOR_THREADS, host threads that run blocks
  uint64_t seed = 1;                              ///< HCONV_EMULATOR_SEED, of the scheduling order
  CopyTiming copy_timing = CopyTiming::mixed;     ///< HCONV_EMULATOR_CP_ASYNC = mixed | early | late
  bool lazy_streams = false;                      ///< HCONV_EMULATOR_STREAMS = eager | lazy
  size_t device_memory = size_t(8) << 30;         ///< HCONV_EMULATOR_MEMORY_MB, bytes a device
  size_t allocation_alignment = 256;              ///< HCONV_EMULATOR_ALIGNMENT, a power of two from 16 to 4096
  int capability_major = 9, capability_minor = 0; ///< HCONV_EMULATOR_CAPABILITY, such as 8.6
};

Settings settings();
void reload_settings();

} // namespace hconv::emulator
