// Stand-ins for the ahead-of-time functions: plain loops over the documented layouts. The CUDA ones go through
// hconv_cuda_launch to the fake driver, which calls the same loops.
#include <cstring>

#include "HalideRuntime.h"
#include "fake_cuda.h"
#include "runtime/cuda/launch.h"

namespace {

float load(const void *data, int64_t i, bool wide) {
  float value;
  if (wide) {
    std::memcpy(&value, static_cast<const char *>(data) + 4 * i, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, static_cast<const char *>(data) + 2 * i, 2);
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  std::memcpy(&value, &bits, 4);
  return value;
}

void store(void *data, int64_t i, bool wide, float value) {
  if (wide) {
    std::memcpy(static_cast<char *>(data) + 4 * i, &value, 4);
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits += 0x7fff + (bits >> 16 & 1); // round to nearest even; the tests hold no NaN in bfloat16
  const uint16_t half = static_cast<uint16_t>(bits >> 16);
  std::memcpy(static_cast<char *>(data) + 2 * i, &half, 2);
}

struct Sizes {
  int32_t w, h, ic, b, packed_oc, kw, kh, ow, oh, oc, has_bias, top, left, wide;
};

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
                  sum += load(x, ((b * s.ic + ic) * s.h + ih) * s.w + iw, s.wide) *
                         load(packed, ((ic * s.kh + kh) * s.kw + kw) * s.packed_oc + oc, s.wide);
              }
          store(y, ((b * s.oc + oc) * s.oh + oh) * s.ow + ow, s.wide, sum);
        }
}

struct PackSizes {
  int32_t kw, kh, ic, oc, packed_oc, packed_ic, bytes;
};

void pack(const PackSizes &s, const void *w, void *packed) {
  const int64_t taps = int64_t{s.kh} * s.kw;
  std::memset(packed, 0, static_cast<size_t>(s.packed_ic * taps * s.packed_oc * s.bytes));
  for (int64_t oc = 0; oc < s.oc; ++oc)
    for (int64_t ic = 0; ic < s.ic; ++ic)
      for (int64_t tap = 0; tap < taps; ++tap)
        std::memcpy(static_cast<char *>(packed) + ((ic * taps + tap) * s.packed_oc + oc) * s.bytes,
                    static_cast<const char *>(w) + ((oc * s.ic + ic) * taps + tap) * s.bytes,
                    static_cast<size_t>(s.bytes));
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

Sizes sizes_of(const halide_buffer_t *x, const halide_buffer_t *w, int32_t has_bias, int32_t top, int32_t left,
               const halide_buffer_t *y) {
  return {x->dim[0].extent,
          x->dim[1].extent,
          x->dim[2].extent,
          x->dim[3].extent,
          w->dim[0].extent,
          w->dim[1].extent,
          w->dim[2].extent,
          y->dim[0].extent,
          y->dim[1].extent,
          y->dim[2].extent,
          has_bias,
          top,
          left,
          x->type.bits == 32};
}

const uint8_t *bytes_of(const FakeImage &image) {
  return reinterpret_cast<const uint8_t *>(&image);
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

int fail_in_halide(const void *user_context) {
  halide_error(const_cast<void *>(user_context), "Input buffer x has a fault that the test asked for\n");
  return halide_error_code_bad_type;
}

} // namespace

#define CONV_ARGUMENTS                                                                                                 \
  const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *bias, int32_t has_bias,           \
      int32_t top, int32_t left, halide_buffer_t *y

#define FAKE_CONV(name)                                                                                                \
  extern "C" int name(CONV_ARGUMENTS) {                                                                                \
    (void)user_context;                                                                                                \
    convolve(sizes_of(x, w, has_bias, top, left, y), x->host, w->host, bias->host, y->host);                           \
    return 0;                                                                                                          \
  }
#define FAKE_CONV_CUDA(name)                                                                                           \
  extern "C" int name(CONV_ARGUMENTS) {                                                                                \
    static void *state;                                                                                                \
    return convolve_on_cuda(user_context, &state, sizes_of(x, w, has_bias, top, left, y), x, w, bias, y);              \
  }
#define FAKE_CONV_FAILING(name)                                                                                        \
  extern "C" int name(const void *user_context, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, int32_t,      \
                      int32_t, int32_t, halide_buffer_t *) {                                                           \
    return fail_in_halide(user_context);                                                                               \
  }
#define FAKE_PACK_SIZES                                                                                                \
  PackSizes {                                                                                                          \
    w->dim[0].extent, w->dim[1].extent, w->dim[2].extent, w->dim[3].extent, packed->dim[0].extent,                     \
        packed->dim[3].extent, w->type.bits / 8                                                                        \
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
FAKE_CONV_FAILING(conv2d_direct_f16_oc32x64_cuda)
FAKE_CONV_CUDA(conv2d_direct_f32_oc32x64_halide_ptx)
FAKE_CONV(conv2d_direct_f32_oc8x8_cpu_baseline)
FAKE_CONV(conv2d_direct_bf16_oc8x8_cpu_baseline)
FAKE_CONV_FAILING(conv2d_direct_f16_oc8x8_cpu_baseline)
FAKE_CONV(conv2d_direct_f32_oc16x8_cpu_avx2)
FAKE_CONV(conv2d_direct_f32_oc32x8_cpu_avx512)

extern "C" int conv2d_direct_f32_wrong_cpu_baseline(CONV_ARGUMENTS) {
  (void)user_context;
  convolve(sizes_of(x, w, has_bias, top, left, y), x->host, w->host, bias->host, y->host);
  store(y->host, 1, true, load(y->host, 1, true) + 0.5f);
  return 0;
}
