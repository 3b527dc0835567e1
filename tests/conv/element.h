/** Element types as the tests see them: rounding and bit patterns worked out from the formats' definitions. */
#pragma once

#include <cstdint>
#include <dlpack/dlpack.h>
#include <string>
#include <vector>

namespace hconv_test {

enum class Element { f32, bf16, f16 };

const Element all_elements[] = {Element::f32, Element::bf16, Element::f16};

/** "f32", "bf16" or "f16". */
std::string name(Element type);
/** The element named `text`; throws std::invalid_argument for any other text. */
Element element_from_name(const std::string &text);

DLDataType dl_type(Element type);
/** Bytes of one element. */
int bytes_of(Element type);
/** Bits of the significand, the implied one included: 24, 8, 11. */
int precision(Element type);
/** log2 of the smallest positive value: -149, -133, -24. */
int smallest_exponent(Element type);
/** Largest finite value. */
double largest(Element type);
/** Unit roundoff of round to nearest: 2^-precision. */
double unit_roundoff(Element type);

/** `value` rounded once to the nearest element, ties to even, beyond the largest value to infinity. */
double round_to(Element type, double value);
/** Bit pattern of a value that is exactly an element (or NaN), in the low bits. */
uint32_t bits_of(Element type, double value);
/** Value of a bit pattern. */
double value_of(Element type, uint32_t bits);

/** Elements of one tensor in memory order, as the library sees them. */
class Elements {
public:
  Elements() = default;
  Elements(Element type, size_t count) : type_(type), bytes_(count * bytes_of(type)) {}
  /** Rounds each value to the type. */
  Elements(Element type, const std::vector<double> &values);

  Element type() const { return type_; }
  size_t size() const { return bytes_.size() / bytes_of(type_); }
  size_t size_bytes() const { return bytes_.size(); }
  uint8_t *data() { return bytes_.data(); }
  const uint8_t *data() const { return bytes_.data(); }

  uint32_t bits(size_t i) const;
  void set_bits(size_t i, uint32_t bits);
  double value(size_t i) const { return value_of(type_, bits(i)); }
  void set(size_t i, double value) { set_bits(i, bits_of(type_, round_to(type_, value))); }
  std::vector<double> values() const;
  /** `count` elements from `first` on. */
  Elements slice(size_t first, size_t count) const;
  bool operator==(const Elements &other) const { return type_ == other.type_ && bytes_ == other.bytes_; }

private:
  Element type_ = Element::f32;
  std::vector<uint8_t> bytes_;
};

} // namespace hconv_test
