// Conversions between float and the 16-bit and TF32 formats, in integer arithmetic so that they are right on any CPU.
#ifndef HCONV_TWIN_NUMBER_FORMATS_H
#define HCONV_TWIN_NUMBER_FORMATS_H

#include <cstdint>
#include <cstring>

namespace hconv {
namespace twin {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

constexpr uint32_t kMagnitudeMask = 0x7fffffffu;
constexpr uint32_t kInfinityBits = 0x7f800000u;

} // namespace twin

/// float32 to bfloat16, round to nearest even; any NaN becomes the canonical NaN 0x7fff, as on the device.
inline uint16_t bfloat16_bits(float value) {
  const uint32_t bits = twin::bits_of(value);
  if ((bits & twin::kMagnitudeMask) > twin::kInfinityBits)
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float bfloat16_value(uint16_t bits) {
  return twin::float_of(static_cast<uint32_t>(bits) << 16);
}

/// float32 to float16, round to nearest even, overflow to infinity; any NaN becomes the canonical NaN 0x7fff.
inline uint16_t half_bits(float value) {
  const uint32_t bits = twin::bits_of(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & twin::kMagnitudeMask;
  constexpr uint32_t kRoundsToInfinity = 0x477ff000u; // 65520, halfway between 65504 and the next step
  constexpr uint32_t kSmallestNormal = 0x38800000u;   // 2^-14
  constexpr uint32_t kRoundsToZero = 0x33000000u;     // 2^-25, half of the smallest subnormal: the tie goes to even
  if (magnitude > twin::kInfinityBits)
    return 0x7fff;
  if (magnitude >= kRoundsToInfinity)
    return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= kSmallestNormal) {
    const uint32_t rebiased = magnitude - (112u << 23); // exponent bias 127 to 15
    return static_cast<uint16_t>(sign | ((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13));
  }
  if (magnitude <= kRoundsToZero)
    return static_cast<uint16_t>(sign);
  // Subnormal: count in units of 2^-24. The float is significand * 2^(exponent - 150).
  const uint32_t exponent = magnitude >> 23;
  const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t shift = 126u - exponent;
  const uint32_t rest = significand & ((1u << shift) - 1u);
  const uint32_t half = 1u << (shift - 1u);
  uint32_t units = significand >> shift;
  if (rest > half || (rest == half && (units & 1u)))
    ++units;
  return static_cast<uint16_t>(sign | units);
}

inline float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1fu)
    return twin::float_of(sign | twin::kInfinityBits | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f; // exact
    return twin::float_of(sign | twin::bits_of(magnitude));
  }
  return twin::float_of(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

/// float32 to TF32 (10-bit fraction in a float32 container), round to nearest, ties away from zero: cvt.rna.tf32.f32. A
/// NaN loses the low 13 bits, as an H200 does it: one whose payload lies there becomes infinity.
inline uint32_t tf32_bits(float value) {
  const uint32_t bits = twin::bits_of(value);
  const uint32_t magnitude = bits & twin::kMagnitudeMask;
  if (magnitude >= twin::kInfinityBits)
    return bits & 0xffffe000u;
  return (bits + 0x1000u) & 0xffffe000u;
}

} // namespace hconv

#endif
