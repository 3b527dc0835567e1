// Stand-ins for the functions of split variants: plain loops over a slice of the channels, and the sum of the parts.
#include "HalideRuntime.h"
#include "fake_cuda.h"
#include "fake_elements.h"
#include "runtime/cuda/launch.h"

namespace {

using hconv_test::load;
using hconv_test::store;

/// Dimensions by name; x has its channels' extent in x_ic, which a padded weight tensor may exceed.
struct Sizes {
  halide_dimension_t ow, oh, oc, part, b;    // of the parts
  halide_dimension_t x_w, x_h, x_ic, x_b;    // of x
  halide_dimension_t w_oc, w_kw, w_kh, w_ic; // of the packed weights
  int32_t top, left, wide;
};

void add_slices(const Sizes &s, const void *x, const void *w, float *parts) {
  const int slice = s.w_ic.extent / s.part.extent;
  for (int b = 0; b < s.b.extent; ++b)
    for (int part = 0; part < s.part.extent; ++part)
      for (int oc = 0; oc < s.oc.extent; ++oc)
        for (int oh = 0; oh < s.oh.extent; ++oh)
          for (int ow = 0; ow < s.ow.extent; ++ow) {
            float sum = 0;
            for (int ic = part * slice; ic < (part + 1) * slice && ic < s.x_ic.extent; ++ic)
              for (int kh = 0; kh < s.w_kh.extent; ++kh)
                for (int kw = 0; kw < s.w_kw.extent; ++kw) {
                  const int ih = oh + kh - s.top, iw = ow + kw - s.left;
                  if (ih >= 0 && ih < s.x_h.extent && iw >= 0 && iw < s.x_w.extent)
                    sum +=
                        load(x, iw * s.x_w.stride + ih * s.x_h.stride + ic * s.x_ic.stride + b * s.x_b.stride, s.wide) *
                        load(w, oc * s.w_oc.stride + kw * s.w_kw.stride + kh * s.w_kh.stride + ic * s.w_ic.stride,
                             s.wide);
                }
            parts[ow * s.ow.stride + oh * s.oh.stride + oc * s.oc.stride + part * s.part.stride + b * s.b.stride] = sum;
          }
}

struct SumSizes {
  halide_dimension_t i, part, b, y_b;
  int32_t pixels, has_bias, wide;
};

void sum_parts(const SumSizes &s, const float *parts, const void *bias, void *y) {
  for (int b = 0; b < s.b.extent; ++b)
    for (int i = 0; i < s.i.extent; ++i) {
      float sum = 0;
      for (int part = 0; part < s.part.extent; ++part)
        sum += parts[i * s.i.stride + part * s.part.stride + b * s.b.stride];
      store(y, b * s.y_b.stride + i, s.wide, sum + (s.has_bias ? load(bias, i / s.pixels, s.wide) : 0.0f));
    }
}

template <class T> T &parameter(void **parameters, int i) {
  return *static_cast<T *>(parameters[i]);
}

const FakeImage slices_image = {[](void **p) {
  add_slices(parameter<Sizes>(p, 0), parameter<void *>(p, 1), parameter<void *>(p, 2), parameter<float *>(p, 3));
}};
const FakeImage sum_image = {[](void **p) {
  sum_parts(parameter<SumSizes>(p, 0), parameter<float *>(p, 1), parameter<void *>(p, 2), parameter<void *>(p, 3));
}};

int launch(const void *user_context, void **state, const FakeImage &image, int count, void **arguments,
           uint64_t buffers) {
  return hconv_cuda_launch(user_context, state, reinterpret_cast<const uint8_t *>(&image), "fake_kernel", 1, 1, 1, 128,
                           1, 1, 0, count, arguments, buffers);
}

int fail(const void *user_context, const char *sentence) {
  halide_error(const_cast<void *>(user_context), sentence);
  return halide_error_code_generic_error;
}

/// `channels_first`: x[w, h, ic, b], else x[ic, w, h, b].
int conv(const void *user_context, void **state, bool channels_first, halide_buffer_t *x, halide_buffer_t *w,
         int32_t top, int32_t left, halide_buffer_t *y) {
  if (y->dimensions != 5 || y->type.code != halide_type_float || y->type.bits != 32 || y->device % 16)
    return fail(user_context, "the parts are no aligned float32 tensor of five dimensions");
  if (y->dim[3].extent < 1 || w->dim[3].extent % y->dim[3].extent)
    return fail(user_context, "the packed channels do not divide into the parts");
  if (y->dim[4].stride != y->dim[3].stride * y->dim[3].extent)
    return fail(user_context, "the parts of an image do not lie behind those of the one before");
  const halide_dimension_t *d = x->dim;
  Sizes sizes = {y->dim[0],
                 y->dim[1],
                 y->dim[2],
                 y->dim[3],
                 y->dim[4],
                 d[channels_first ? 0 : 1],
                 d[channels_first ? 1 : 2],
                 d[channels_first ? 2 : 0],
                 d[3],
                 w->dim[0],
                 w->dim[1],
                 w->dim[2],
                 w->dim[3],
                 top,
                 left,
                 x->type.bits == 32};
  void *arguments[] = {&sizes, x, w, y};
  return launch(user_context, state, slices_image, 4, arguments, 0b1110);
}

int sum(const void *user_context, void **state, halide_buffer_t *parts, halide_buffer_t *bias, int32_t has_bias,
        int32_t pixels, halide_buffer_t *y) {
  if (parts->dimensions != 3 || y->dimensions != 2 || parts->dim[0].extent % pixels)
    return fail(user_context, "the parts are no rows of whole channels");
  SumSizes sizes = {parts->dim[0], parts->dim[1], parts->dim[2], y->dim[1], pixels, has_bias, y->type.bits == 32};
  void *arguments[] = {&sizes, parts, bias, y};
  return launch(user_context, state, sum_image, 4, arguments, 0b1110);
}

} // namespace

#define FAKE_SPLIT(name, channels_first)                                                                               \
  extern "C" int name(const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *, int32_t,    \
                      int32_t top, int32_t left, halide_buffer_t *y) {                                                 \
    static void *state;                                                                                                \
    return conv(user_context, &state, channels_first, x, w, top, left, y);                                             \
  }
#define FAKE_SUM_PARTS(name)                                                                                           \
  extern "C" int name(const void *user_context, halide_buffer_t *parts, halide_buffer_t *bias, int32_t has_bias,       \
                      int32_t pixels, halide_buffer_t *y) {                                                            \
    static void *state;                                                                                                \
    return sum(user_context, &state, parts, bias, has_bias, pixels, y);                                                \
  }

FAKE_SPLIT(conv2d_direct_f32_oc16x16_kw9_split_cuda, true)
FAKE_SPLIT(conv2d_mma_bf16_oc16x16_kw9_split_cuda, false)
FAKE_SUM_PARTS(sum_parts_f32_cuda)
FAKE_SUM_PARTS(sum_parts_bf16_cuda)
