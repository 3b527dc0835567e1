// Elements of the fakes' tensors: float32 (wide) or bfloat16.
#pragma once

#include <cstdint>
#include <cstring>

namespace hconv_test {

inline float load(const void *data, int64_t i, bool wide) {
  float value;
  if (wide) {
    std::memcpy(&value, static_cast<const char *>(data) + 4 * i, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, static_cast<const char *>(data) + 2 * i, 2);
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  std::memcpy(&value, &bits, 4);
  return value;
}

inline void store(void *data, int64_t i, bool wide, float value) {
  if (wide) {
    std::memcpy(static_cast<char *>(data) + 4 * i, &value, 4);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits += 0x7fff + (bits >> 16 & 1); // round to nearest even; the tests hold no NaN in bfloat16
  const uint16_t half = static_cast<uint16_t>(bits >> 16);
  std::memcpy(static_cast<char *>(data) + 2 * i, &half, 2);
}

} // namespace hconv_test
