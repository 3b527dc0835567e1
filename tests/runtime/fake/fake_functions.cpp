// Stand-ins for the ahead-of-time functions: plain loops over the documented layouts. The CUDA ones go through
// hconv_cuda_launch to the fake driver, which calls the same loops.
#include <cstring>

#include "HalideRuntime.h"
#include "fake_cuda.h"
#include "fake_elements.h"
#include "runtime/cuda/launch.h"

namespace {

using hconv_test::load;
using hconv_test::store;

/// Extents and strides by the names of dimensions: neither algorithm's layout is built into the loops.
struct Sizes {
  int32_t w, h, ic, b, kw, kh, ow, oh, oc, has_bias, top, left, wide;
  int32_t x_stride[4]; ///< w, h, ic, b
  int32_t w_stride[4]; ///< oc, kw, kh, ic
  int32_t y_stride[4]; ///< ow, oh, oc, b
};

int64_t at(const int32_t (&stride)[4], int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
}

void convolve(const Sizes &s, const void *x, const void *packed, const void *bias, void *y) {
  for (int64_t b = 0; b < s.b; ++b)
    for (int64_t oc = 0; oc < s.oc; ++oc)
      for (int64_t oh = 0; oh < s.oh; ++oh)
        for (int64_t ow = 0; ow < s.ow; ++ow) {
          float sum = s.has_bias ? load(bias, oc, s.wide) : 0.0f;
          for (int64_t ic = 0; ic < s.ic; ++ic)
            for (int64_t kh = 0; kh < s.kh; ++kh)
              for (int64_t kw = 0; kw < s.kw; ++kw) {
                const int64_t ih = oh + kh - s.top, iw = ow + kw - s.left;
                if (ih >= 0 && ih < s.h && iw >= 0 && iw < s.w)
                  sum += load(x, at(s.x_stride, iw, ih, ic, b), s.wide) *
                         load(packed, at(s.w_stride, oc, kw, kh, ic), s.wide);
              }
          store(y, at(s.y_stride, ow, oh, oc, b), s.wide, sum);
        }
}

struct PackSizes {
  int32_t kw, kh, ic, oc, packed_oc, packed_ic, bytes;
  int32_t stride[4];   ///< of packed: oc, kw, kh, ic
  int32_t w_stride[4]; ///< kw, kh, ic, oc
};

void pack(const PackSizes &s, const void *w, void *packed) {
  const int64_t taps = int64_t{s.kh} * s.kw;
  std::memset(packed, 0, static_cast<size_t>(s.packed_ic * taps * s.packed_oc * s.bytes));
  for (int64_t oc = 0; oc < s.oc; ++oc)
    for (int64_t ic = 0; ic < s.ic; ++ic)
      for (int64_t tap = 0; tap < taps; ++tap)
        std::memcpy(static_cast<char *>(packed) + at(s.stride, oc, tap % s.kw, tap / s.kw, ic) * s.bytes,
                    static_cast<const char *>(w) + at(s.w_stride, tap % s.kw, tap / s.kw, ic, oc) * s.bytes,
                    static_cast<size_t>(s.bytes));
}

struct PackInputSizes {
  int32_t w, h, ic, b, packed_ic, packed_w, packed_h, top, left;
  int32_t x_stride[4]; ///< w, h, ic, b
};

void pack_input(const PackInputSizes &s, const void *x, void *packed) {
  const auto *from = static_cast<const uint16_t *>(x);
  auto *to = static_cast<uint16_t *>(packed);
  for (int64_t b = 0; b < s.b; ++b)
    for (int64_t h = 0; h < s.packed_h; ++h)
      for (int64_t w = 0; w < s.packed_w; ++w)
        for (int64_t c = 0; c < s.packed_ic; ++c) {
          const int64_t ih = h - s.top, iw = w - s.left;
          const bool inside = c < s.ic && ih >= 0 && ih < s.h && iw >= 0 && iw < s.w;
          *to++ = inside ? from[at(s.x_stride, iw, ih, c, b)] : uint16_t{0};
        }
}

struct TransposeSizes {
  int32_t columns, rows, batch, bytes;
};

void transpose(const TransposeSizes &s, const void *x, void *y) {
  const char *from = static_cast<const char *>(x);
  char *to = static_cast<char *>(y);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t c = 0; c < s.columns; ++c)
      for (int64_t r = 0; r < s.rows; ++r, to += s.bytes)
        std::memcpy(to, from + ((b * s.rows + r) * s.columns + c) * s.bytes, static_cast<size_t>(s.bytes));
}

template <class T> T &parameter(void **parameters, int i) {
  return *static_cast<T *>(parameters[i]);
}

const FakeImage conv_image = {[](void **p) {
  convolve(parameter<Sizes>(p, 0), parameter<void *>(p, 1), parameter<void *>(p, 2), parameter<void *>(p, 3),
           parameter<void *>(p, 4));
}};
const FakeImage pack_image = {
    [](void **p) { pack(parameter<PackSizes>(p, 0), parameter<void *>(p, 1), parameter<void *>(p, 2)); }};

const FakeImage pack_input_image = {
    [](void **p) { pack_input(parameter<PackInputSizes>(p, 0), parameter<void *>(p, 1), parameter<void *>(p, 2)); }};

const FakeImage transpose_image = {
    [](void **p) { transpose(parameter<TransposeSizes>(p, 0), parameter<void *>(p, 1), parameter<void *>(p, 2)); }};

const uint8_t *bytes_of(const FakeImage &image) {
  return reinterpret_cast<const uint8_t *>(&image);
}

Sizes sizes_of(const halide_buffer_t *x, const halide_buffer_t *w, int32_t has_bias, int32_t top, int32_t left,
               const halide_buffer_t *y) {
  return {x->dim[0].extent,
          x->dim[1].extent,
          x->dim[2].extent,
          x->dim[3].extent,
          w->dim[1].extent,
          w->dim[2].extent,
          y->dim[0].extent,
          y->dim[1].extent,
          y->dim[2].extent,
          has_bias,
          top,
          left,
          x->type.bits == 32,
          {x->dim[0].stride, x->dim[1].stride, x->dim[2].stride, x->dim[3].stride},
          {w->dim[0].stride, w->dim[1].stride, w->dim[2].stride, w->dim[3].stride},
          {y->dim[0].stride, y->dim[1].stride, y->dim[2].stride, y->dim[3].stride}};
}

/// Of mma: x has its channels innermost and holds the padding.
Sizes sizes_of_packed(const halide_buffer_t *x, const halide_buffer_t *w, int32_t has_bias, int32_t top, int32_t left,
                      const halide_buffer_t *y) {
  halide_dimension_t reordered[4] = {x->dim[1], x->dim[2], x->dim[0], x->dim[3]};
  halide_buffer_t by_name = *x;
  by_name.dim = reordered;
  return sizes_of(&by_name, w, has_bias, top, left, y);
}

/// A reason not to run, for what mma's contract promises and its kernels rely on.
const char *broken_promise(const halide_buffer_t *x, const halide_buffer_t *w, int32_t top, int32_t left,
                           const halide_buffer_t *y) {
  if (top || left)
    return "the padding is in x already";
  if (x->dim[0].stride != 1 || w->dim[3].stride != 1 || x->dim[0].extent != w->dim[3].extent ||
      x->dim[0].extent % 16 != 0)
    return "channels are not innermost in whole steps";
  if (x->dim[1].extent - w->dim[1].extent + 1 != y->dim[0].extent ||
      x->dim[2].extent - w->dim[2].extent + 1 != y->dim[1].extent)
    return "x has not the extents of y and the padding";
  if (x->device % 16 || w->device % 16)
    return "packed data is not aligned";
  return nullptr;
}

/// The same of mma for NHWC, whose x is the caller's or a copy with whole pieces of 8 channels.
const char *broken_promise_of_nhwc(const halide_buffer_t *x, const halide_buffer_t *w, const halide_buffer_t *y) {
  if (x->dim[0].stride != 1 || w->dim[3].stride != 1 || y->dim[2].stride != 1)
    return "channels are not innermost";
  if (x->dim[0].extent % 8 || w->dim[3].extent % 16 || y->dim[2].extent % 8)
    return "channels are not in whole pieces";
  if (x->device % 16 || w->device % 16 || y->device % 16)
    return "tensors are not aligned";
  return nullptr;
}

int transpose_on_cuda(const void *user_context, void **state, halide_buffer_t *x, halide_buffer_t *y) {
  TransposeSizes sizes = {x->dim[0].extent, x->dim[1].extent, x->dim[2].extent, x->type.bits / 8};
  void *arguments[] = {&sizes, x, y};
  return hconv_cuda_launch(user_context, state, bytes_of(transpose_image), "fake_kernel", 1, 1, 1, 128, 1, 1, 0, 3,
                           arguments, 0b110);
}

int convolve_on_cuda(const void *user_context, void **state, const Sizes &sizes, halide_buffer_t *x, halide_buffer_t *w,
                     halide_buffer_t *bias, halide_buffer_t *y) {
  Sizes copy = sizes;
  void *arguments[] = {&copy, x, w, bias, y};
  return hconv_cuda_launch(user_context, state, bytes_of(conv_image), "fake_kernel", copy.b * copy.oh, 1, 1, 128, 1, 1,
                           64 * 1024, 5, arguments, 0b11110);
}

int pack_on_cuda(const void *user_context, void **state, const PackSizes &sizes, halide_buffer_t *w,
                 halide_buffer_t *packed) {
  PackSizes copy = sizes;
  void *arguments[] = {&copy, w, packed};
  return hconv_cuda_launch(user_context, state, bytes_of(pack_image), "fake_kernel", 1, 1, 1, 128, 1, 1, 0, 3,
                           arguments, 0b110);
}

int pack_input_on_cuda(const void *user_context, void **state, halide_buffer_t *x, int32_t top, int32_t left,
                       halide_buffer_t *packed) {
  PackInputSizes sizes = {x->dim[0].extent,
                          x->dim[1].extent,
                          x->dim[2].extent,
                          x->dim[3].extent,
                          packed->dim[0].extent,
                          packed->dim[1].extent,
                          packed->dim[2].extent,
                          top,
                          left,
                          {x->dim[0].stride, x->dim[1].stride, x->dim[2].stride, x->dim[3].stride}};
  void *arguments[] = {&sizes, x, packed};
  return hconv_cuda_launch(user_context, state, bytes_of(pack_input_image), "fake_kernel", sizes.b, 1, 1, 128, 1, 1, 0,
                           3, arguments, 0b110);
}

int fail_in_halide(const void *user_context) {
  halide_error(const_cast<void *>(user_context), "Input buffer x has a fault that the test asked for\n");
  return halide_error_code_bad_type;
}

} // namespace

#define CONV_INPUTS                                                                                                    \
  const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *bias, int32_t has_bias,           \
      int32_t top, int32_t left
#define CONV_ARGUMENTS CONV_INPUTS, halide_buffer_t *y
#define CPU_CONV_ARGUMENTS                                                                                             \
  CONV_INPUTS, int32_t block_ic, int32_t task_oh, int32_t task_oc, int32_t task_b, halide_buffer_t *y

#define FAKE_CONV(name)                                                                                                \
  extern "C" int name(CPU_CONV_ARGUMENTS) {                                                                            \
    (void)user_context, (void)block_ic, (void)task_oh, (void)task_oc, (void)task_b;                                    \
    convolve(sizes_of(x, w, has_bias, top, left, y), x->host, w->host, bias->host, y->host);                           \
    return 0;                                                                                                          \
  }
#define FAKE_CONV_CUDA(name)                                                                                           \
  extern "C" int name(CONV_ARGUMENTS) {                                                                                \
    static void *state;                                                                                                \
    return convolve_on_cuda(user_context, &state, sizes_of(x, w, has_bias, top, left, y), x, w, bias, y);              \
  }
#define FAKE_MMA(name)                                                                                                 \
  extern "C" int name(CONV_ARGUMENTS) {                                                                                \
    static void *state;                                                                                                \
    if (const char *broken = broken_promise(x, w, top, left, y)) {                                                     \
      halide_error(const_cast<void *>(user_context), broken);                                                          \
      return halide_error_code_generic_error;                                                                          \
    }                                                                                                                  \
    return convolve_on_cuda(user_context, &state, sizes_of_packed(x, w, has_bias, top, left, y), x, w, bias, y);       \
  }
#define FAKE_MMA_NHWC(name)                                                                                            \
  extern "C" int name(CONV_ARGUMENTS) {                                                                                \
    static void *state;                                                                                                \
    if (const char *broken = broken_promise_of_nhwc(x, w, y)) {                                                        \
      halide_error(const_cast<void *>(user_context), broken);                                                          \
      return halide_error_code_generic_error;                                                                          \
    }                                                                                                                  \
    return convolve_on_cuda(user_context, &state, sizes_of_packed(x, w, has_bias, top, left, y), x, w, bias, y);       \
  }
#define FAKE_CONV_FAILING(name, ...)                                                                                   \
  extern "C" int name(const void *user_context, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, int32_t,      \
                      int32_t, int32_t, __VA_ARGS__) {                                                                 \
    return fail_in_halide(user_context);                                                                               \
  }
#define FAKE_PACK_SIZES                                                                                                \
  PackSizes {                                                                                                          \
    w->dim[0].extent, w->dim[1].extent, w->dim[2].extent, w->dim[3].extent, packed->dim[0].extent,                     \
        packed->dim[3].extent, w->type.bits / 8,                                                                       \
        {packed->dim[0].stride, packed->dim[1].stride, packed->dim[2].stride, packed->dim[3].stride}, {                \
      w->dim[0].stride, w->dim[1].stride, w->dim[2].stride, w->dim[3].stride                                           \
    }                                                                                                                  \
  }
#define FAKE_PACK(name)                                                                                                \
  extern "C" int name(const void *, halide_buffer_t *w, halide_buffer_t *packed) {                                     \
    pack(FAKE_PACK_SIZES, w->host, packed->host);                                                                      \
    return 0;                                                                                                          \
  }
#define FAKE_PACK_CUDA(name)                                                                                           \
  extern "C" int name(const void *user_context, halide_buffer_t *w, halide_buffer_t *packed) {                         \
    static void *state;                                                                                                \
    return pack_on_cuda(user_context, &state, FAKE_PACK_SIZES, w, packed);                                             \
  }

#define FAKE_TRANSPOSE(name)                                                                                           \
  extern "C" int name(const void *, halide_buffer_t *x, halide_buffer_t *y) {                                          \
    transpose({x->dim[0].extent, x->dim[1].extent, x->dim[2].extent, x->type.bits / 8}, x->host, y->host);             \
    return 0;                                                                                                          \
  }
#define FAKE_TRANSPOSE_CUDA(name)                                                                                      \
  extern "C" int name(const void *user_context, halide_buffer_t *x, halide_buffer_t *y) {                              \
    static void *state;                                                                                                \
    return transpose_on_cuda(user_context, &state, x, y);                                                              \
  }

FAKE_TRANSPOSE(transpose_b32_cpu)
FAKE_TRANSPOSE(transpose_b16_cpu)
FAKE_TRANSPOSE_CUDA(transpose_b32_cuda)
FAKE_TRANSPOSE_CUDA(transpose_b16_cuda)
FAKE_PACK_CUDA(pack_b32_cuda)
FAKE_PACK_CUDA(pack_b16_cuda)
FAKE_PACK(pack_b32_cpu)
FAKE_PACK(pack_b16_cpu)
FAKE_CONV_CUDA(conv2d_direct_f32_oc32x64_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc64x32_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc64x64_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc32x128_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc64x128_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc64x64_kw3_cuda)
FAKE_CONV_CUDA(conv2d_direct_bf16_oc32x64_cuda)
FAKE_CONV_FAILING(conv2d_direct_f16_oc32x64_cuda, halide_buffer_t *)
FAKE_MMA(conv2d_mma_bf16_oc64x64_cuda)
FAKE_MMA(conv2d_mma_bf16_oc128x128_cuda)
FAKE_MMA(conv2d_wgmma_bf16_oc64x64_cuda)
FAKE_MMA_NHWC(conv2d_mma_bf16_nhwc_oc64x64_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc32x64_halide_ptx)
FAKE_CONV(conv2d_direct_f32_oc8x8_cpu_baseline)
FAKE_CONV(conv2d_direct_bf16_oc8x8_cpu_baseline)
FAKE_CONV_FAILING(conv2d_direct_f16_oc8x8_cpu_baseline, int32_t, halide_buffer_t *)
FAKE_CONV(conv2d_direct_f32_oc16x8_cpu_avx2)
FAKE_CONV(conv2d_direct_f32_oc32x8_cpu_avx512)

#define FAKE_PACK_INPUT(name)                                                                                          \
  extern "C" int name(const void *user_context, halide_buffer_t *x, int32_t top, int32_t left,                         \
                      halide_buffer_t *packed) {                                                                       \
    static void *state;                                                                                                \
    return pack_input_on_cuda(user_context, &state, x, top, left, packed);                                             \
  }
FAKE_PACK_INPUT(pack_input_b16_cuda)
FAKE_PACK_INPUT(pack_input_b16_nhwc_cuda)

extern "C" int conv2d_direct_f32_wrong_cpu_baseline(CPU_CONV_ARGUMENTS) {
  (void)user_context, (void)block_ic, (void)task_oh, (void)task_oc, (void)task_b;
  convolve(sizes_of(x, w, has_bias, top, left, y), x->host, w->host, bias->host, y->host);
  store(y->host, 1, true, load(y->host, 1, true) + 0.5f);
  return 0;
}
