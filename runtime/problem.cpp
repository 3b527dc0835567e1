#include "problem.h"

#include <cmath>

#include "error.h"

namespace hconv::runtime {

bool product(int64_t *result, std::initializer_list<int64_t> factors) {
  *result = 1;
  bool fits = true;
  for (int64_t factor : factors) {
    if (factor == 0) { // a zero anywhere makes the product 0, whatever overflowed before
      *result = 0;
      return true;
    }
    fits = fits && !__builtin_mul_overflow(*result, factor, result);
  }
  return fits;
}

bool same(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
bool same(DLDevice a, DLDevice b) {
  return raw(a.device_type) == raw(b.device_type) && a.device_id == b.device_id;
}

bool same(const hconv_problem &a, const hconv_problem &b) {
  return same(a.dtype, b.dtype) && same(a.device, b.device) && raw(a.math) == raw(b.math) && a.batch == b.batch &&
         a.in_channels == b.in_channels && a.height == b.height && a.width == b.width &&
         a.out_channels == b.out_channels && a.kernel_height == b.kernel_height && a.kernel_width == b.kernel_width &&
         a.padding.top == b.padding.top && a.padding.bottom == b.padding.bottom && a.padding.left == b.padding.left &&
         a.padding.right == b.padding.right && raw(a.layout) == raw(b.layout);
}

bool type_of(DLDataType dtype, Type *type) {
  if (dtype.lanes != 1)
    return false;
  if (dtype.code == kDLFloat && dtype.bits == 32)
    *type = Type::f32;
  else if (dtype.code == kDLFloat && dtype.bits == 16)
    *type = Type::f16;
  else if (dtype.code == kDLBfloat && dtype.bits == 16)
    *type = Type::bf16;
  else
    return false;
  return true;
}

int64_t element_bytes(DLDataType dtype) {
  return (int64_t{dtype.bits} * dtype.lanes + 7) / 8;
}

halide_type_t halide_type_of(DLDataType dtype) {
  return halide_type_t(dtype.code == kDLBfloat ? halide_type_bfloat : halide_type_float, dtype.bits, 1);
}

std::string text_of(DLDataType dtype) {
  const char *code = dtype.code == kDLInt       ? "int"
                     : dtype.code == kDLUInt    ? "uint"
                     : dtype.code == kDLFloat   ? "float"
                     : dtype.code == kDLBfloat  ? "bfloat"
                     : dtype.code == kDLComplex ? "complex"
                                                : nullptr;
  std::string result = code ? text("%s%d", code, dtype.bits) : text("type code %d of %d bits", dtype.code, dtype.bits);
  return dtype.lanes == 1 ? result : result + text("x%d", dtype.lanes);
}

std::string text_of(DLDevice device) {
  if (raw(device.device_type) == kDLCPU)
    return device.device_id == 0 ? "cpu" : text("cpu:%d", device.device_id);
  if (raw(device.device_type) == kDLCUDA)
    return text("cuda:%d", device.device_id);
  return text("DLPack device type %d:%d", raw(device.device_type), device.device_id);
}

std::string text_of(const int64_t *shape, int rank) {
  std::string result = "[";
  for (int i = 0; i < rank; ++i)
    result += text("%s%lld", i ? ", " : "", static_cast<long long>(shape[i]));
  return result + "]";
}

const char *text_of(hconv_math math) {
  return math == HCONV_MATH_STRICT ? "strict" : math == HCONV_MATH_TF32 ? "tf32" : "fp32";
}

const char *text_of(hconv_layout layout) {
  return layout == HCONV_LAYOUT_NHWC ? "nhwc" : "nchw";
}

bool is_nhwc(const hconv_problem &p) {
  return raw(p.layout) == HCONV_LAYOUT_NHWC;
}

std::string text_of(const hconv_problem &p) {
  return text("%s B%lld IC%lld OC%lld H%lld W%lld KH%lld KW%lld pad %d,%d,%d,%d %s %s%s", text_of(p.dtype).c_str(),
              static_cast<long long>(p.batch), static_cast<long long>(p.in_channels),
              static_cast<long long>(p.out_channels), static_cast<long long>(p.height), static_cast<long long>(p.width),
              static_cast<long long>(p.kernel_height), static_cast<long long>(p.kernel_width), p.padding.top,
              p.padding.bottom, p.padding.left, p.padding.right, text_of(p.device).c_str(), text_of(p.math),
              is_nhwc(p) ? " nhwc" : "");
}

Geometry geometry_of(const hconv_problem &p) {
  Geometry g{};
  g.output_height = p.height + p.padding.top + p.padding.bottom - p.kernel_height + 1;
  g.output_width = p.width + p.padding.left + p.padding.right - p.kernel_width + 1;
  g.x_image = p.in_channels * p.height * p.width;
  g.y_image = p.out_channels * g.output_height * g.output_width;
  g.products = p.in_channels * p.kernel_height * p.kernel_width;
  g.element_bytes = element_bytes(p.dtype);
  g.flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(g.y_image) * static_cast<double>(g.products);
  return g;
}

double unit_roundoff(DLDataType dtype) {
  const int significand_bits = dtype.code == kDLBfloat ? 8 : dtype.bits == 16 ? 11 : 24;
  return std::ldexp(1.0, -significand_bits);
}

SumError sum_error(Algorithm algorithm, int64_t products) {
  const double terms = static_cast<double>(products) + 1.0, smallest = std::ldexp(1.0, -149);
  switch (algorithm) {
  case Algorithm::direct:
    return {std::ldexp(terms, -24), terms * smallest};
  case Algorithm::mma:
  case Algorithm::wgmma: {
    const double cuts = 3.0 * terms;
    return {std::expm1(cuts * std::log1p(std::ldexp(1.0, -23))), cuts * smallest}; // (1 + 2^-23)^cuts - 1
  }
  case Algorithm::transform: // has another one, transform_error
  case Algorithm::spectral_product:
  case Algorithm::pack:
  case Algorithm::pack_input:
  case Algorithm::transpose:
  case Algorithm::sum_parts:
    break; // they copy
  }
  return {0.0, 0.0};
}

} // namespace hconv::runtime
