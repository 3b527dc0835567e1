#include "elements.h"

#include "failure.h"

#include <cmath>
#include <cstring>

namespace hconv::cli {

namespace {

/** `value` as float32, where an inexact result is the neighbour with an odd significand. Rounding that to a format with
 * at least two bits less gives the same as rounding `value` directly: no double rounding. */
uint32_t float_bits_rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof(bits));
  if (std::isnan(value) || static_cast<double>(nearest) == value) {
    return bits;
  }
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) {
    --bits; // one towards zero; infinity becomes the largest finite number
  }
  return bits | 1;
}

/** An integer as double, rounded to odd in the same sense (53 bits of significand). */
double double_rounded_to_odd(uint64_t magnitude, bool negative) {
  int shift = 0;
  while (magnitude >> 53 != 0) {
    magnitude = magnitude >> 1 | (magnitude & 1); // the lowest bit remembers what was shifted out
    ++shift;
  }
  const double value = std::ldexp(static_cast<double>(magnitude), shift);
  return negative ? -value : value;
}

/** float32 bits to bfloat16 bits, to nearest even. */
uint32_t bfloat16_from_float_bits(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) {
    return bits >> 16 | 0x40; // a NaN must not lose its last significand bit and become infinity
  }
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/** float32 bits to float16 bits, to nearest even. */
uint32_t half_from_float_bits(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
  }
  if (magnitude >= 0x47800000) { // 2^16 and above, infinity
    return sign | 0x7c00;
  }
  // The significand as an integer and the number of its bits that the half does not have.
  const int exponent = static_cast<int>(magnitude >> 23);
  const uint32_t significand = exponent == 0 ? 0 : (magnitude & 0x7fffff) | 0x800000;
  const bool normal = exponent >= 113; // 2^-14
  const int drop = normal ? 13 : 126 - exponent;
  if (drop > 25) {
    return sign;
  }
  const uint32_t kept = significand >> drop;
  const uint32_t rest = significand & ((1u << drop) - 1), tie = 1u << (drop - 1);
  const uint32_t rounded = kept + (rest > tie || (rest == tie && (kept & 1)) ? 1 : 0);
  // A carry out of the significand moves into the exponent, up to infinity, by itself.
  return sign | (normal ? (static_cast<uint32_t>(exponent - 113) << 10) + rounded : rounded);
}

double half_value(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double significand = bits & 0x3ff;
  double value;
  if (exponent == 31) {
    value = significand == 0 ? HUGE_VAL : std::nan("");
  } else {
    value = exponent == 0 ? std::ldexp(significand, -24) : std::ldexp(significand + 1024, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

double float_value(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<double>(value);
}

/** The element that starts at `from`, exact except for integers past 2^53, which are rounded to odd. */
double element_value(const unsigned char *from, const NpyArray &array) {
  uint64_t bits = 0;
  for (int i = 0; i < array.item_bytes; ++i) {
    bits = bits << 8 | from[array.big_endian ? i : array.item_bytes - 1 - i];
  }
  switch (array.kind) {
  case 'f':
    if (array.item_bytes == 8) {
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    return array.item_bytes == 4 ? float_value(static_cast<uint32_t>(bits)) : half_value(static_cast<uint32_t>(bits));
  case 'V':
    return float_value(static_cast<uint32_t>(bits) << 16);
  case 'b':
    return bits != 0 ? 1 : 0;
  case 'i': {
    const uint64_t sign = uint64_t(1) << (8 * array.item_bytes - 1);
    const bool negative = (bits & sign) != 0;
    const uint64_t mask = sign | (sign - 1);
    return double_rounded_to_odd(negative ? (~bits + 1) & mask : bits, negative);
  }
  default:
    return double_rounded_to_odd(bits, false);
  }
}

void store_bits(unsigned char *to, uint32_t bits, int bytes) {
  if (bytes == 4) {
    std::memcpy(to, &bits, 4);
  } else {
    const uint16_t half = static_cast<uint16_t>(bits);
    std::memcpy(to, &half, 2);
  }
}

std::string numpy_type_name(const NpyArray &array) {
  if (array.kind == 'b') {
    return "bool";
  }
  const char *base = array.kind == 'f' ? "float" : array.kind == 'i' ? "int" : array.kind == 'u' ? "uint" : "bfloat";
  return base + std::to_string(8 * array.item_bytes);
}

bool same_type(const NpyArray &array, Type type) {
  return (array.kind == 'f' && array.item_bytes == 4 && type == Type::f32) ||
         (array.kind == 'f' && array.item_bytes == 2 && type == Type::f16) || (array.kind == 'V' && type == Type::bf16);
}

/** Walks an array in C order: offset of each next element, in elements. */
class COrder {
public:
  explicit COrder(const NpyArray &array) : shape(array.shape), strides(shape.size()), index(shape.size(), 0) {
    int64_t stride = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      const size_t dimension = array.fortran_order ? i : shape.size() - 1 - i;
      strides[dimension] = stride;
      stride *= shape[dimension];
    }
  }
  int64_t offset = 0;
  void advance() {
    for (size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i]) {
        return;
      }
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }

private:
  const std::vector<int64_t> &shape;
  std::vector<int64_t> strides, index;
};

} // namespace

const char *type_name(Type type) {
  return type == Type::f32 ? "f32" : type == Type::bf16 ? "bf16" : "f16";
}

int type_bytes(Type type) {
  return type == Type::f32 ? 4 : 2;
}

DLDataType dl_type(Type type) {
  const uint8_t code = type == Type::bf16 ? kDLBfloat : kDLFloat;
  return DLDataType{code, static_cast<uint8_t>(8 * type_bytes(type)), 1};
}

double type_roundoff(Type type) {
  return std::ldexp(1, type == Type::f32 ? -24 : type == Type::bf16 ? -8 : -11);
}

double type_smallest(Type type) {
  return std::ldexp(1, type == Type::f32 ? -149 : type == Type::bf16 ? -133 : -24);
}

uint32_t round_to_bits(double value, Type type) {
  if (type == Type::f32) {
    const float nearest = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &nearest, sizeof(bits));
    return bits;
  }
  const uint32_t odd = float_bits_rounded_to_odd(value);
  return type == Type::bf16 ? bfloat16_from_float_bits(odd) : half_from_float_bits(odd);
}

double value_of_bits(uint32_t bits, Type type) {
  return type == Type::f32 ? float_value(bits) : type == Type::bf16 ? float_value(bits << 16) : half_value(bits);
}

double load_element(const void *array, int64_t i, Type type) {
  if (type == Type::f32) {
    return static_cast<double>(static_cast<const float *>(array)[i]);
  }
  return value_of_bits(static_cast<const uint16_t *>(array)[i], type);
}

namespace {

[[noreturn]] void fail_raw(const NpyArray &array, const std::string &name, const std::string &found) {
  throw Failure(EXIT_USAGE, name + ": holds raw 2-byte elements ('" + array.descr + "') " + found +
                                "; expected --type bf16, which reads them as bfloat16 the way ml_dtypes writes it.");
}

} // namespace

Type default_type(const NpyArray &array, const std::string &name) {
  if (array.kind == 'V') {
    fail_raw(array, name, "and no --type is given");
  }
  return array.kind == 'f' && array.item_bytes == 2 ? Type::f16 : Type::f32;
}

std::vector<unsigned char> convert(const NpyArray &array, Type type, const std::string &name,
                                   std::vector<std::string> &notes) {
  if (array.kind == 'V' && type != Type::bf16) {
    fail_raw(array, name, std::string("and the type is ") + type_name(type));
  }
  const size_t bytes = static_cast<size_t>(type_bytes(type));
  const int64_t elements = array.elements();
  const bool keep_bits = same_type(array, type);
  if (keep_bits && !array.fortran_order && !array.big_endian) {
    return array.bytes;
  }
  std::vector<unsigned char> result(static_cast<size_t>(elements) * bytes);
  int64_t changed = 0, overflowed = 0;
  COrder order(array);
  for (int64_t i = 0; i < elements; ++i, order.advance()) {
    const unsigned char *from = array.bytes.data() + order.offset * array.item_bytes;
    unsigned char *to = result.data() + static_cast<size_t>(i) * bytes;
    if (keep_bits) { // not through double, which would quieten NaNs
      for (size_t b = 0; b < bytes; ++b) {
        to[b] = from[array.big_endian ? bytes - 1 - b : b];
      }
      continue;
    }
    const double value = element_value(from, array);
    const uint32_t bits = round_to_bits(value, type);
    const double stored = value_of_bits(bits, type);
    changed += stored != value && !std::isnan(value);
    overflowed += std::isinf(stored) && !std::isinf(value);
    store_bits(to, bits, static_cast<int>(bytes));
  }
  if (changed > 0) {
    notes.push_back(name + ": " + std::to_string(changed) + " of " + std::to_string(elements) + " " +
                    numpy_type_name(array) + " values were rounded to " + type_name(type) + ".");
  }
  if (overflowed > 0) {
    notes.push_back(name + ": " + std::to_string(overflowed) + " finite values are too large for " + type_name(type) +
                    " and became infinite.");
  }
  return result;
}

std::vector<unsigned char> to_npy_elements(const std::vector<unsigned char> &data, Type type, std::string &descr) {
  descr = type == Type::f16 ? "<f2" : "<f4";
  if (type != Type::bf16) {
    return data;
  }
  std::vector<unsigned char> result(2 * data.size());
  for (size_t i = 0; i < data.size(); i += 2) {
    std::memcpy(result.data() + 2 * i + 2, data.data() + i, 2); // the upper half of a float32 is the bfloat16
    std::memset(result.data() + 2 * i, 0, 2);
  }
  return result;
}

} // namespace hconv::cli
