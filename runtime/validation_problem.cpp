#include "validation.h"

#include <cinttypes>
#include <limits>

#include "error.h"
#include "problem.h"

namespace hconv::runtime {
namespace {

constexpr hconv_status accepted = HCONV_OK;
constexpr int64_t extent_limit = std::numeric_limits<int32_t>::max();

hconv_status check_type(DLDataType dtype, const char *name) {
  Type type;
  if (type_of(dtype, &type))
    return accepted;
  return fail(HCONV_UNSUPPORTED, "%s has element type %s; expected float32, bfloat16 or float16.", name,
              text_of(dtype).c_str());
}

hconv_status check_device(DLDevice device, const char *name) {
  if (raw(device.device_type) != kDLCPU && raw(device.device_type) != kDLCUDA)
    return fail(HCONV_UNSUPPORTED, "%s is on %s; expected cpu (kDLCPU) or cuda (kDLCUDA).", name,
                text_of(device).c_str());
  if (device.device_id < 0 || (raw(device.device_type) == kDLCPU && device.device_id != 0))
    return fail(HCONV_INVALID_ARGUMENT, "%s is on %s; expected cpu with ordinal 0 or cuda with an ordinal from 0.",
                name, text_of(device).c_str());
  return accepted;
}

hconv_status check_extent(const char *name, int64_t value, int64_t least) {
  if (value < least)
    return fail(HCONV_INVALID_ARGUMENT, "%s is %" PRId64 "; expected at least %" PRId64 ".", name, value, least);
  if (value > extent_limit)
    return fail(HCONV_UNSUPPORTED, "%s is %" PRId64 "; expected at most %" PRId64 ".", name, value, extent_limit);
  return accepted;
}

hconv_status check_output_extent(const char *name, const char *formula, int64_t in, int32_t before, int32_t after,
                                 int64_t kernel) {
  const int64_t out = in + before + after - kernel + 1;
  if (out < 1)
    return fail(HCONV_INVALID_ARGUMENT,
                "%s would be %" PRId64 "; expected at least 1, with %s = %" PRId64 " + %d + %d - %" PRId64 " + 1.",
                name, out, formula, in, before, after, kernel);
  if (out > extent_limit)
    return fail(HCONV_UNSUPPORTED, "%s would be %" PRId64 "; expected at most %" PRId64 ".", name, out, extent_limit);
  return accepted;
}

hconv_status check_elements(const char *what, std::initializer_list<int64_t> extents) {
  int64_t count;
  if (product(&count, extents) && count < element_limit)
    return accepted;
  const std::string found = text_of(extents.begin(), static_cast<int>(extents.size()));
  return fail(HCONV_UNSUPPORTED, "%s is too large with extents %s; expected fewer than 2^31 elements.", what,
              found.c_str());
}

hconv_status check_bytes(const char *what, std::initializer_list<int64_t> factors) {
  int64_t bytes;
  if (product(&bytes, factors))
    return accepted;
  return fail(HCONV_UNSUPPORTED, "%s is too large; expected fewer than 2^63 bytes.", what);
}

} // namespace

hconv_status check_problem(const hconv_problem *p) {
  if (hconv_status bad = check_type(p->dtype, "problem.dtype"))
    return bad;
  if (hconv_status bad = check_device(p->device, "problem.device"))
    return bad;
  const int math = raw(p->math);
  if (math < HCONV_MATH_FP32 || math > HCONV_MATH_TF32)
    return fail(HCONV_INVALID_ARGUMENT, "math is %d; expected HCONV_MATH_FP32, HCONV_MATH_STRICT or HCONV_MATH_TF32.",
                math);
  const int layout = raw(p->layout);
  if (layout != HCONV_LAYOUT_NCHW && layout != HCONV_LAYOUT_NHWC)
    return fail(HCONV_INVALID_ARGUMENT, "problem.layout is %d; expected HCONV_LAYOUT_NCHW or HCONV_LAYOUT_NHWC.",
                layout);
  struct {
    const char *name;
    int64_t value, least;
  } const extents[] = {
      {"The batch B", p->batch, 0},
      {"The number of input channels IC", p->in_channels, 1},
      {"The height H", p->height, 1},
      {"The width W", p->width, 1},
      {"The number of output channels OC", p->out_channels, 1},
      {"The kernel height KH", p->kernel_height, 1},
      {"The kernel width KW", p->kernel_width, 1},
      {"padding.top", p->padding.top, 0},
      {"padding.bottom", p->padding.bottom, 0},
      {"padding.left", p->padding.left, 0},
      {"padding.right", p->padding.right, 0},
  };
  for (const auto &extent : extents)
    if (hconv_status bad = check_extent(extent.name, extent.value, extent.least))
      return bad;
  if (hconv_status bad = check_output_extent("The output height OH", "OH = H + top + bottom - KH + 1", p->height,
                                             p->padding.top, p->padding.bottom, p->kernel_height))
    return bad;
  if (hconv_status bad = check_output_extent("The output width OW", "OW = W + left + right - KW + 1", p->width,
                                             p->padding.left, p->padding.right, p->kernel_width))
    return bad;
  // No overflow from here on: every extent is below 2^31, and each product is checked.
  const int64_t oh = p->height + p->padding.top + p->padding.bottom - p->kernel_height + 1;
  const int64_t ow = p->width + p->padding.left + p->padding.right - p->kernel_width + 1;
  if (hconv_status bad = check_elements("One image of x", {p->in_channels, p->height, p->width}))
    return bad;
  if (hconv_status bad = check_elements("One image of y", {p->out_channels, oh, ow}))
    return bad;
  if (hconv_status bad = check_elements("w", {p->out_channels, p->in_channels, p->kernel_height, p->kernel_width}))
    return bad;
  const int64_t size = element_bytes(p->dtype);
  if (hconv_status bad = check_bytes("x", {p->batch, p->in_channels, p->height, p->width, size}))
    return bad;
  return check_bytes("y", {p->batch, p->out_channels, oh, ow, size});
}

hconv_status problem_from_tensors(const DLTensor *x, const DLTensor *w, const hconv_padding *padding, hconv_math math,
                                  hconv_problem *problem) {
  if (!problem)
    return fail(HCONV_INVALID_ARGUMENT, "problem is null; expected the address of an hconv_problem to fill.");
  if (hconv_status bad = check_descriptor(x, "x", 4, "[B, IC, H, W]"))
    return bad;
  if (hconv_status bad = check_descriptor(w, "w", 4, "[OC, IC, KH, KW]"))
    return bad;
  if (hconv_status bad = check_type(x->dtype, "x"))
    return bad;
  if (hconv_status bad = check_device(x->device, "x"))
    return bad;
  if (!same(w->dtype, x->dtype))
    return fail(HCONV_INVALID_ARGUMENT, "w has element type %s; expected %s, the type of x.", text_of(w->dtype).c_str(),
                text_of(x->dtype).c_str());
  if (!same(w->device, x->device))
    return fail(HCONV_INVALID_ARGUMENT, "w is on %s; expected %s, the device of x.", text_of(w->device).c_str(),
                text_of(x->device).c_str());
  if (w->shape[1] != x->shape[1])
    return fail(HCONV_INVALID_ARGUMENT,
                "w has %" PRId64 " input channels (shape %s); expected %" PRId64 ", the channels of x (shape %s).",
                w->shape[1], text_of(w->shape, 4).c_str(), x->shape[1], text_of(x->shape, 4).c_str());
  hconv_problem p{};
  p.dtype = x->dtype;
  p.device = x->device;
  p.math = math;
  p.batch = x->shape[0];
  p.in_channels = x->shape[1];
  p.height = x->shape[2];
  p.width = x->shape[3];
  p.out_channels = w->shape[0];
  p.kernel_height = w->shape[2];
  p.kernel_width = w->shape[3];
  if (padding)
    p.padding = *padding;
  if (hconv_status bad = check_problem(&p))
    return bad;
  if (p.batch && is_channels_last(*x))
    p.layout = HCONV_LAYOUT_NHWC;
  *problem = p;
  return accepted;
}

} // namespace hconv::runtime
