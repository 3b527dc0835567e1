#include "element.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace hconv_test {

namespace {

uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_value(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t half_bits(double value) {
  const uint32_t sign = std::signbit(value) ? 0x8000u : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00u;
  if (std::isinf(value))
    return sign | 0x7c00u;
  if (magnitude < std::ldexp(1.0, -14))
    return sign | uint32_t(std::ldexp(magnitude, 24)); // subnormal: a multiple of 2^-24
  const int exponent = std::ilogb(magnitude);
  return sign | uint32_t(exponent + 15) << 10 | uint32_t(std::ldexp(magnitude, 10 - exponent) - 1024);
}

double half_value(uint32_t bits) {
  const double sign = bits & 0x8000u ? -1 : 1;
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  if (exponent == 31)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

} // namespace

std::string name(Element type) {
  return type == Element::f32 ? "f32" : type == Element::bf16 ? "bf16" : "f16";
}

Element element_from_name(const std::string &text) {
  for (Element type : all_elements)
    if (name(type) == text)
      return type;
  throw std::invalid_argument("'" + text + "' is not an element type, expected f32, bf16 or f16");
}

DLDataType dl_type(Element type) {
  return {uint8_t(type == Element::bf16 ? kDLBfloat : kDLFloat), uint8_t(8 * bytes_of(type)), 1};
}

int bytes_of(Element type) {
  return type == Element::f32 ? 4 : 2;
}
int precision(Element type) {
  return type == Element::f32 ? 24 : type == Element::bf16 ? 8 : 11;
}
int smallest_exponent(Element type) {
  return type == Element::f32 ? -149 : type == Element::bf16 ? -133 : -24;
}

double largest(Element type) {
  const int top = type == Element::f16 ? 15 : 127;
  return std::ldexp(2 - std::ldexp(1.0, 1 - precision(type)), top);
}

double unit_roundoff(Element type) {
  return std::ldexp(1.0, -precision(type));
}

double round_to(Element type, double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const int unit = std::max(std::ilogb(value) + 1 - precision(type), smallest_exponent(type));
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(rounded) > largest(type) ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

uint32_t bits_of(Element type, double value) {
  if (type == Element::f16)
    return half_bits(value);
  const uint32_t bits = float_bits(float(value));
  return type == Element::f32 ? bits : bits >> 16;
}

double value_of(Element type, uint32_t bits) {
  return type == Element::f16 ? half_value(bits) : double(float_value(type == Element::f32 ? bits : bits << 16));
}

Elements::Elements(Element type, const std::vector<double> &values) : Elements(type, values.size()) {
  for (size_t i = 0; i < values.size(); i++)
    set(i, values[i]);
}

uint32_t Elements::bits(size_t i) const {
  uint32_t bits = 0; // little-endian, as every machine that the library runs on
  std::memcpy(&bits, &bytes_[i * bytes_of(type_)], bytes_of(type_));
  return bits;
}

void Elements::set_bits(size_t i, uint32_t bits) {
  std::memcpy(&bytes_[i * bytes_of(type_)], &bits, bytes_of(type_));
}

std::vector<double> Elements::values() const {
  std::vector<double> values(size());
  for (size_t i = 0; i < values.size(); i++)
    values[i] = value(i);
  return values;
}

Elements Elements::slice(size_t first, size_t count) const {
  Elements part(type_, count);
  std::memcpy(part.data(), data() + first * bytes_of(type_), part.size_bytes());
  return part;
}

} // namespace hconv_test
