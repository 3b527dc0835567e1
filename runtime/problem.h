// Derived quantities of a problem, all in 64 bits and meaningful only after check_problem() accepted it.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

#include "hconv/hconv.h"
#include "variants.h"

namespace hconv::runtime {

/// a * b * ... in 64 bits; false when the product does not fit. Factors must not be negative.
bool product(int64_t *result, std::initializer_list<int64_t> factors);

/// The number behind a C enum that a caller filled in: reading a value outside the enum directly is undefined in C++.
template <class Enum> int raw(const Enum &value) {
  static_assert(sizeof(Enum) == sizeof(int), "C enums of this API are ints");
  int number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

bool same(DLDataType a, DLDataType b);
bool same(DLDevice a, DLDevice b);
bool same(const hconv_problem &a, const hconv_problem &b);

/// Element type of a variant, or false for a type that hconv does not compute in.
bool type_of(DLDataType dtype, Type *type);
int64_t element_bytes(DLDataType dtype);
halide_type_t halide_type_of(DLDataType dtype);

std::string text_of(DLDataType dtype); ///< "float32"
std::string text_of(DLDevice device);  ///< "cuda:0"
std::string text_of(const int64_t *shape, int rank);
const char *text_of(hconv_math math);
const char *text_of(hconv_layout layout); ///< "nchw"
bool is_nhwc(const hconv_problem &problem);
/// "float32 B2 IC16 OC32 H64 W64 KH3 KW3 pad 1,1,1,1 cuda:0 fp32", and " nhwc" behind it where it is
std::string text_of(const hconv_problem &problem);

/// Sizes that follow from a problem.
struct Geometry {
  int64_t output_height, output_width;
  int64_t x_image, y_image; ///< elements of one image of x and of y
  int64_t products;         ///< IC * KH * KW, the length of every sum
  int64_t element_bytes;
  double flops; ///< 2 * B * OC * OH * OW * IC * KH * KW, the padding counted
};
Geometry geometry_of(const hconv_problem &problem);

/// Half a unit in the last place of 1, relative: the largest relative error of rounding to the type once.
double unit_roundoff(DLDataType dtype);

/// What an algorithm promises of its float32 result, before the store rounds it to the element type:
/// |result - exact| <= relative * (sum of |x*w| over the window + |bias|) + absolute.
struct SumError {
  double relative;
  double absolute; ///< of partial sums that underflow
};

/// The promise for sums of `products` exact products and a bias, in any order, whatever their number.
/// direct: (products + 1) * 2^-24 (Jeannerod and Rump 2013). mma: a step of a tensor core cuts, where float32
/// arithmetic rounds, each product, the sum before it and the new sum: at most 3 * (products + 1) errors of 2^-23 each.
/// Not for transform variants: see transform_error.
SumError sum_error(Algorithm algorithm, int64_t products);

} // namespace hconv::runtime
