// HCONV_CHECK=1: every result is compared with a float64 reference, computed by a plain loop on the CPU.
#include "check.h"

#include <cmath>
#include <cstring>

#include "error.h"
#include "memory.h"
#include "plan.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

constexpr DLDevice cpu = {kDLCPU, 0};

double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double largest(DLDataType dtype) {
  return dtype.bits == 32 ? 0x1.fffffep127 : dtype.code == kDLBfloat ? 0x1.fep127 : 65504.0;
}
double smallest_step(DLDataType dtype) {
  return std::ldexp(1.0, dtype.bits == 32 ? -149 : dtype.code == kDLBfloat ? -133 : -24);
}

/// During a capture nothing has been computed yet, and waiting would break the capture.
bool capturing(const hconv_plan &plan, void *stream) {
  int status = cuda::capture_status_none;
  if (plan.on_cuda())
    cuda::driver().stream_capturing(static_cast<cuda::Stream>(stream), &status);
  if (status != cuda::capture_status_none)
    log(LogLevel::info, "HCONV_CHECK: not checked, since the stream is being captured");
  return status != cuda::capture_status_none;
}

hconv_status fetch(const hconv_plan &plan, const void *from, int64_t bytes, void *stream, std::vector<char> *to) {
  to->resize(static_cast<size_t>(bytes));
  return copy(to->data(), cpu, from, plan.problem.device, to->size(), stream);
}

/// The elements of [batch, channels, pixels] in row-major order, from channels last.
void make_row_major(std::vector<char> *elements, int64_t batch, int64_t channels, int64_t pixels, int64_t size) {
  const std::vector<char> from = *elements;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < pixels; ++i)
        std::memcpy(&(*elements)[((b * channels + c) * pixels + i) * size],
                    &from[((b * pixels + i) * channels + c) * size], static_cast<size_t>(size));
}

/// One output as float64: its value, the sum of the absolute values of its terms, and the largest admissible distance
/// from the value of a float32 result before the store rounds it.
struct Exact {
  double value, magnitude, tolerance;
  bool spoilt = false; ///< of transform: the tile or the filter holds a NaN or an infinity, so the result is not finite
};

struct Reference {
  const hconv_plan &plan;
  std::vector<char> x, bias, y;
  std::vector<double> w; ///< [OC, IC, KH, KW]
  TransformNorms norms;  ///< of transform

  double weight(int64_t oc, int64_t ic, int64_t kh, int64_t kw) const {
    const hconv_problem &p = plan.problem;
    return w[((oc * p.in_channels + ic) * p.kernel_height + kh) * p.kernel_width + kw];
  }

  Exact at(int64_t b, int64_t oc, int64_t oh, int64_t ow) const {
    const hconv_problem &p = plan.problem;
    Exact e{0, 0, 0};
    const auto add = [&e](double term) {
      e.value += term;
      e.magnitude += std::fabs(term);
    };
    for (int64_t ic = 0; ic < p.in_channels; ++ic)
      for (int64_t kh = 0; kh < p.kernel_height; ++kh)
        for (int64_t kw = 0; kw < p.kernel_width; ++kw) {
          const int64_t ih = oh + kh - p.padding.top, iw = ow + kw - p.padding.left;
          const bool inside = 0 <= ih && ih < p.height && 0 <= iw && iw < p.width;
          const double pixel =
              inside ? element_value(p, x, ((b * p.in_channels + ic) * p.height + ih) * p.width + iw) : 0.0;
          add(pixel * weight(oc, ic, kh, kw)); // a zero outside times an infinite weight is NaN, as IEEE has it
        }
    const double added = bias.empty() ? 0 : element_value(p, bias, oc);
    add(added);
    if (plan.product) {
      const Norms n = norms.of(plan, b, oc, oh, ow);
      const TransformError error = transform_error(p, *plan.variant, *plan.product, n.tile, n.filter);
      e.magnitude = n.largest + std::fabs(added);
      e.tolerance = error.relative * (n.tile * n.filter + std::fabs(added)) + error.absolute;
      e.spoilt = !std::isfinite(n.tile * n.filter);
    } else {
      const SumError error = sum_error(plan.variant->algorithm, plan.geometry.products);
      e.tolerance = error.relative * e.magnitude + error.absolute;
    }
    return e;
  }

  /// Largest admissible |found - exact|: the tolerance and one rounding to the output type.
  double bound(const Exact &e) const {
    const DLDataType dtype = plan.problem.dtype;
    if (dtype.bits == 32)
      return e.tolerance;
    return e.tolerance + unit_roundoff(dtype) * (std::fabs(e.value) + e.tolerance) + smallest_step(dtype);
  }

  bool agrees(const Exact &e, double found) const {
    if (e.spoilt)
      return !std::isfinite(found);
    if (std::isnan(e.value))
      return std::isnan(found);
    if (std::isinf(e.value))
      return found == e.value;
    const double tolerance = bound(e), limit = largest(plan.problem.dtype);
    if (e.magnitude + tolerance >= largest({kDLFloat, 32, 1})) // float32 may have overflowed on the way
      return true;
    if (std::isinf(found) && std::fabs(e.value) + tolerance > limit)
      return std::signbit(found) == std::signbit(e.value);
    return std::fabs(found - e.value) <= tolerance;
  }
};

hconv_status compare(const Reference &r) {
  const hconv_problem &p = r.plan.problem;
  const Geometry &g = r.plan.geometry;
  int64_t i = 0;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t oc = 0; oc < p.out_channels; ++oc)
      for (int64_t oh = 0; oh < g.output_height; ++oh)
        for (int64_t ow = 0; ow < g.output_width; ++ow, ++i) {
          const Exact exact = r.at(b, oc, oh, ow);
          const double found = element_value(p, r.y, i);
          if (!r.agrees(exact, found))
            return fail(HCONV_INTERNAL_ERROR,
                        "HCONV_CHECK: %s computed y[%lld,%lld,%lld,%lld] = %.9g; expected %.9g within %.3g (%s).",
                        r.plan.variant->name, static_cast<long long>(b), static_cast<long long>(oc),
                        static_cast<long long>(oh), static_cast<long long>(ow), found, exact.value, r.bound(exact),
                        text_of(p).c_str());
        }
  log(LogLevel::info, "HCONV_CHECK: %lld outputs of %s agree", static_cast<long long>(i), r.plan.variant->name);
  return HCONV_OK;
}

/// The weights in direct's and mma's layouts.
std::vector<double> packed_weights(const hconv_plan &plan, const std::vector<char> &packed) {
  const hconv_problem &p = plan.problem;
  const PackedExtents &e = plan.packed;
  std::vector<double> w;
  for (int64_t oc = 0; oc < p.out_channels; ++oc)
    for (int64_t ic = 0; ic < p.in_channels; ++ic)
      for (int64_t kh = 0; kh < p.kernel_height; ++kh)
        for (int64_t kw = 0; kw < p.kernel_width; ++kw)
          w.push_back(
              element_value(p, packed, oc * e.oc_stride + kw * e.kw_stride + kh * e.kh_stride + ic * e.ic_stride));
  return w;
}

hconv_status compare_packed(const hconv_plan &plan, const std::vector<char> &from, const std::vector<char> &found) {
  const hconv_problem &p = plan.problem;
  const PackedExtents &e = plan.packed;
  const int64_t size = plan.geometry.element_bytes;
  const std::vector<char> zero(static_cast<size_t>(size));
  for (int64_t ic = 0; ic < e.ic; ++ic)
    for (int64_t kh = 0; kh < e.kh; ++kh)
      for (int64_t kw = 0; kw < e.kw; ++kw)
        for (int64_t oc = 0; oc < e.oc; ++oc) {
          const bool inside = ic < p.in_channels && oc < p.out_channels;
          const char *expected =
              inside ? from.data() + (((oc * p.in_channels + ic) * e.kh + kh) * e.kw + kw) * size : zero.data();
          const int64_t i = oc * e.oc_stride + kw * e.kw_stride + kh * e.kh_stride + ic * e.ic_stride;
          if (std::memcmp(found.data() + i * size, expected, static_cast<size_t>(size)) != 0)
            return fail(HCONV_INTERNAL_ERROR,
                        "HCONV_CHECK: %s packed a wrong weight at [ic %lld, kh %lld, kw %lld, oc %lld]; expected %s.",
                        plan.pack->name, static_cast<long long>(ic), static_cast<long long>(kh),
                        static_cast<long long>(kw), static_cast<long long>(oc), inside ? "the bits of w" : "zero bits");
        }
  return HCONV_OK;
}

} // namespace

double element_value(const hconv_problem &p, const std::vector<char> &bytes, int64_t i) {
  if (p.dtype.bits == 32) {
    float f;
    std::memcpy(&f, bytes.data() + 4 * i, sizeof f);
    return f;
  }
  uint16_t bits;
  std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
  if (p.dtype.code == kDLFloat)
    return half_value(bits);
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float f;
  std::memcpy(&f, &wide, sizeof f);
  return f;
}

hconv_status check_result(const hconv_plan &plan, const DLTensor &x, const void *packed, const DLTensor *bias,
                          const DLTensor &y, void *stream) {
  if (capturing(plan, stream))
    return HCONV_OK;
  const hconv_problem &p = plan.problem;
  const Geometry &g = plan.geometry;
  Reference r{plan, {}, {}, {}, {}, {}};
  std::vector<char> weights;
  if (hconv_status bad = fetch(plan, data_of(x), p.batch * g.x_image * g.element_bytes, stream, &r.x))
    return bad;
  if (hconv_status bad = fetch(plan, packed, static_cast<int64_t>(plan.packed_bytes), stream, &weights))
    return bad;
  if (bias)
    if (hconv_status bad = fetch(plan, data_of(*bias), p.out_channels * g.element_bytes, stream, &r.bias))
      return bad;
  if (hconv_status bad = fetch(plan, data_of(y), p.batch * g.y_image * g.element_bytes, stream, &r.y))
    return bad;
  if (is_nhwc(p)) {
    make_row_major(&r.x, p.batch, p.in_channels, p.height * p.width, g.element_bytes);
    make_row_major(&r.y, p.batch, p.out_channels, g.output_height * g.output_width, g.element_bytes);
  }
  r.w = plan.product ? weights_of_spectra(plan, weights) : packed_weights(plan, weights);
  if (plan.product)
    r.norms = TransformNorms(plan, r.x, r.w);
  return compare(r);
}

hconv_status check_packed_weights(const hconv_plan &plan, const DLTensor &w, const void *packed, void *stream) {
  if (capturing(plan, stream))
    return HCONV_OK;
  const int64_t size = plan.geometry.element_bytes;
  std::vector<char> from, found;
  if (hconv_status bad =
          fetch(plan, data_of(w), plan.problem.out_channels * plan.geometry.products * size, stream, &from))
    return bad;
  if (hconv_status bad = fetch(plan, packed, static_cast<int64_t>(plan.packed_bytes), stream, &found))
    return bad;
  const hconv_problem &p = plan.problem;
  if (is_channels_last(w))
    make_row_major(&from, p.out_channels, p.in_channels, p.kernel_height * p.kernel_width, size);
  return plan.product ? compare_spectra(plan, from, found) : compare_packed(plan, from, found);
}

} // namespace hconv::runtime
