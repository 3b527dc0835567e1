// Stand-ins for the functions of transform variants: discrete Fourier transforms by their definition, in double, stored
// as the interface says. Tiles that do not exist are left as they are.
#include <cmath>
#include <complex>
#include <vector>

#include "HalideRuntime.h"
#include "fake_cuda.h"
#include "fake_elements.h"
#include "runtime/cuda/launch.h"

namespace {

using hconv_test::load;
using hconv_test::store;
using Complex = std::complex<double>;

/// Tiles and extents of a call; n, ic and oc are those of the spectra.
struct Sizes {
  int32_t fft_h, fft_w, w, h, channels, b, top, left, step_h, step_w, tiles_h, tiles_w, first, n, spectra, has_bias,
      wide;

  int64_t frequencies() const { return int64_t{fft_h} * fft_w / 2 + 2; }
  int64_t at(int64_t n_, int64_t part, int64_t channel, int64_t f) const {
    return ((f * spectra + channel) * 2 + part) * n + n_;
  }
};

/// k1, k2 of a stored frequency.
std::pair<int, int> place(const Sizes &s, int64_t f) {
  const int64_t inner = int64_t{s.fft_h} * (s.fft_w / 2 - 1), edge = s.fft_h / 2 + 1;
  if (f < inner)
    return {static_cast<int>(f % s.fft_h), static_cast<int>(f / s.fft_h) + 1};
  f -= inner;
  return f < edge ? std::pair<int, int>(static_cast<int>(f), 0)
                  : std::pair<int, int>(static_cast<int>(f - edge), s.fft_w / 2);
}

std::vector<Complex> roots_of_one(int n, int sign) {
  std::vector<Complex> roots;
  for (int i = 0; i < n; ++i)
    roots.push_back(std::polar(1.0, sign * 2 * 3.14159265358979323846 * i / n));
  return roots;
}

/// plane[h][w] -> its whole transform, rows first.
std::vector<Complex> transform(const Sizes &s, const std::vector<Complex> &plane, int sign) {
  const int H = s.fft_h, W = s.fft_w;
  const std::vector<Complex> along_h = roots_of_one(H, sign), along_w = roots_of_one(W, sign);
  std::vector<Complex> rows(plane.size()), all(plane.size());
  for (int h = 0; h < H; ++h)
    for (int k = 0; k < W; ++k)
      for (int w = 0; w < W; ++w)
        rows[h * W + k] += plane[h * W + w] * along_w[k * w % W];
  for (int k1 = 0; k1 < H; ++k1)
    for (int k2 = 0; k2 < W; ++k2)
      for (int h = 0; h < H; ++h)
        all[k1 * W + k2] += rows[h * W + k2] * along_h[k1 * h % H];
  return all;
}

void put(const Sizes &s, float *to, int64_t n, int64_t channel, const std::vector<Complex> &spectrum) {
  for (int64_t f = 0; f < s.frequencies(); ++f) {
    const auto [k1, k2] = place(s, f);
    to[s.at(n, 0, channel, f)] = static_cast<float>(spectrum[k1 * s.fft_w + k2].real());
    to[s.at(n, 1, channel, f)] = static_cast<float>(spectrum[k1 * s.fft_w + k2].imag());
  }
}

void input(const Sizes &s, const void *x, float *spectra) {
  const int64_t image_tiles = int64_t{s.tiles_h} * s.tiles_w;
  for (int64_t n = 0; n < s.n && s.first + n < s.b * image_tiles; ++n)
    for (int64_t ic = 0; ic < s.spectra; ++ic) {
      const int64_t b = (s.first + n) / image_tiles, tile = (s.first + n) % image_tiles;
      const int64_t top = tile / s.tiles_w * s.step_h - s.top, left = tile % s.tiles_w * s.step_w - s.left;
      std::vector<Complex> plane(static_cast<size_t>(s.fft_h * s.fft_w));
      for (int64_t i = 0; i < s.fft_h && ic < s.channels; ++i)
        for (int64_t j = 0; j < s.fft_w; ++j)
          if (top + i >= 0 && top + i < s.h && left + j >= 0 && left + j < s.w)
            plane[i * s.fft_w + j] = load(x, ((b * s.channels + ic) * s.h + top + i) * s.w + left + j, s.wide);
      put(s, spectra, n, ic, transform(s, plane, -1));
    }
}

/// Here b is OC, w and h are the taps', and n stands for the padded OC.
void weights(const Sizes &s, const void *w, float *spectra) {
  for (int64_t oc = 0; oc < s.n; ++oc)
    for (int64_t ic = 0; ic < s.spectra; ++ic) {
      std::vector<Complex> plane(static_cast<size_t>(s.fft_h * s.fft_w));
      for (int64_t i = 0; i < s.h && oc < s.b && ic < s.channels; ++i)
        for (int64_t j = 0; j < s.w; ++j)
          plane[i * s.fft_w + j] = load(w, ((oc * s.channels + ic) * s.h + i) * s.w + j, s.wide);
      std::vector<Complex> spectrum = transform(s, plane, -1);
      for (Complex &value : spectrum)
        value = std::conj(value) / (1.0 * s.fft_h * s.fft_w);
      put(s, spectra, oc, ic, spectrum);
    }
}

void output(const Sizes &s, const float *spectra, const void *bias, void *y) {
  const int64_t image_tiles = int64_t{s.tiles_h} * s.tiles_w;
  for (int64_t n = 0; n < s.n && s.first + n < s.b * image_tiles; ++n)
    for (int64_t oc = 0; oc < s.channels; ++oc) {
      std::vector<Complex> plane(static_cast<size_t>(s.fft_h * s.fft_w));
      for (int64_t f = 0; f < s.frequencies(); ++f) {
        const auto [k1, k2] = place(s, f);
        const Complex value(spectra[s.at(n, 0, oc, f)], spectra[s.at(n, 1, oc, f)]);
        plane[k1 * s.fft_w + k2] = value;
        if (k2 != 0 && k2 != s.fft_w / 2)
          plane[(s.fft_h - k1) % s.fft_h * s.fft_w + s.fft_w - k2] = std::conj(value);
        else if (k1 != 0)
          plane[(s.fft_h - k1) % s.fft_h * s.fft_w + k2] = std::conj(value);
      }
      plane = transform(s, plane, 1);
      const int64_t b = (s.first + n) / image_tiles, tile = (s.first + n) % image_tiles;
      const int64_t top = tile / s.tiles_w * s.step_h, left = tile % s.tiles_w * s.step_w;
      for (int64_t i = 0; i < s.step_h && top + i < s.h; ++i)
        for (int64_t j = 0; j < s.step_w && left + j < s.w; ++j)
          store(y, ((b * s.channels + oc) * s.h + top + i) * s.w + left + j, s.wide,
                static_cast<float>(plane[i * s.fft_w + j].real()) + (s.has_bias ? load(bias, oc, s.wide) : 0.0f));
    }
}

struct ProductSizes {
  int32_t n, oc, ic, f;
};

/// Sums each column by itself, in the order of the channels.
void multiply(const ProductSizes &s, const float *x, const float *w, float *y) {
  const auto at = [](int64_t inner, int64_t inners, int64_t part, int64_t channel, int64_t channels, int64_t f) {
    return ((f * channels + channel) * 2 + part) * inners + inner;
  };
  for (int64_t f = 0; f < s.f; ++f)
    for (int64_t oc = 0; oc < s.oc; ++oc)
      for (int64_t n = 0; n < s.n; ++n) {
        std::complex<float> sum;
        for (int64_t ic = 0; ic < s.ic; ++ic)
          sum += std::complex<float>(x[at(n, s.n, 0, ic, s.ic, f)], x[at(n, s.n, 1, ic, s.ic, f)]) *
                 std::complex<float>(w[at(oc, s.oc, 0, ic, s.ic, f)], w[at(oc, s.oc, 1, ic, s.ic, f)]);
        y[at(n, s.n, 0, oc, s.oc, f)] = sum.real();
        y[at(n, s.n, 1, oc, s.oc, f)] = sum.imag();
      }
}

template <class T> T &parameter(void **parameters, int i) {
  return *static_cast<T *>(parameters[i]);
}

const FakeImage input_image = {
    [](void **p) { input(parameter<Sizes>(p, 0), parameter<void *>(p, 1), parameter<float *>(p, 2)); }};
const FakeImage weights_image = {
    [](void **p) { weights(parameter<Sizes>(p, 0), parameter<void *>(p, 1), parameter<float *>(p, 2)); }};
const FakeImage output_image = {[](void **p) {
  output(parameter<Sizes>(p, 0), parameter<float *>(p, 1), parameter<void *>(p, 2), parameter<void *>(p, 3));
}};
const FakeImage product_image = {[](void **p) {
  multiply(parameter<ProductSizes>(p, 0), parameter<float *>(p, 1), parameter<float *>(p, 2), parameter<float *>(p, 3));
}};

int refuse(const void *user_context, const char *reason) {
  halide_error(const_cast<void *>(user_context), reason);
  return halide_error_code_generic_error;
}

int32_t extent(const halide_buffer_t *b, int d) {
  return b->dim[d].extent;
}

/// A reason not to run: spectra must be dense, planar float32 of the right number of frequencies, and aligned.
const char *broken_spectra(const halide_buffer_t *b, int64_t frequencies) {
  if (b->dimensions != 4 || extent(b, 1) != 2 || (frequencies && extent(b, 3) != frequencies))
    return "spectra have other extents";
  int64_t stride = 1;
  for (int d = 0; d < 4; ++d) {
    if (b->dim[d].min != 0 || b->dim[d].stride != stride)
      return "spectra are not dense";
    stride *= extent(b, d);
  }
  if (b->type != halide_type_t(halide_type_float, 32, 1))
    return "spectra are not float32";
  return (b->device ? b->device : reinterpret_cast<uintptr_t>(b->host)) % 16 ? "spectra are not aligned" : nullptr;
}

template <class Values>
int launch(const void *user_context, void **state, const FakeImage &image, Values sizes,
           std::initializer_list<halide_buffer_t *> buffers) {
  void *arguments[5] = {&sizes};
  int count = 1;
  for (halide_buffer_t *b : buffers)
    arguments[count++] = b;
  return hconv_cuda_launch(user_context, state, reinterpret_cast<const uint8_t *>(&image), "fake_kernel", 1, 1, 1, 128,
                           1, 1, 0, count, arguments, (uint64_t{1} << count) - 2);
}

Sizes sizes_of(int32_t fft_h, int32_t fft_w, const halide_buffer_t *tensor, const halide_buffer_t *spectra) {
  Sizes s{};
  s.fft_h = fft_h;
  s.fft_w = fft_w;
  s.w = extent(tensor, 0);
  s.h = extent(tensor, 1);
  s.channels = extent(tensor, 2);
  s.b = extent(tensor, 3);
  s.n = extent(spectra, 0);
  s.spectra = extent(spectra, 2);
  s.wide = tensor->type.bits == 32;
  return s;
}

} // namespace

// One set of functions; `cuda` says how the loops are reached.
#define FAKE_TRANSFORM(name, fft_h, fft_w, cuda)                                                                       \
  extern "C" int name##_input(const void *user_context, halide_buffer_t *x, int32_t top, int32_t left, int32_t step_h, \
                              int32_t step_w, int32_t tiles_h, int32_t tiles_w, int32_t first,                         \
                              halide_buffer_t *spectra) {                                                              \
    static void *state;                                                                                                \
    Sizes s = sizes_of(fft_h, fft_w, x, spectra);                                                                      \
    s.top = top, s.left = left, s.step_h = step_h, s.step_w = step_w, s.tiles_h = tiles_h, s.tiles_w = tiles_w;        \
    s.first = first;                                                                                                   \
    if (const char *broken = broken_spectra(spectra, s.frequencies()))                                                 \
      return refuse(user_context, broken);                                                                             \
    if (cuda)                                                                                                          \
      return launch(user_context, &state, input_image, s, {x, spectra});                                               \
    input(s, x->host, reinterpret_cast<float *>(spectra->host));                                                       \
    return 0;                                                                                                          \
  }                                                                                                                    \
  extern "C" int name##_weights(const void *user_context, halide_buffer_t *w, halide_buffer_t *spectra) {              \
    static void *state;                                                                                                \
    const Sizes s = sizes_of(fft_h, fft_w, w, spectra);                                                                \
    if (const char *broken = broken_spectra(spectra, s.frequencies()))                                                 \
      return refuse(user_context, broken);                                                                             \
    if (cuda)                                                                                                          \
      return launch(user_context, &state, weights_image, s, {w, spectra});                                             \
    weights(s, w->host, reinterpret_cast<float *>(spectra->host));                                                     \
    return 0;                                                                                                          \
  }                                                                                                                    \
  extern "C" int name##_output(const void *user_context, halide_buffer_t *spectra, halide_buffer_t *bias,              \
                               int32_t has_bias, int32_t step_h, int32_t step_w, int32_t tiles_h, int32_t tiles_w,     \
                               int32_t first, halide_buffer_t *y) {                                                    \
    static void *state;                                                                                                \
    Sizes s = sizes_of(fft_h, fft_w, y, spectra);                                                                      \
    s.step_h = step_h, s.step_w = step_w, s.tiles_h = tiles_h, s.tiles_w = tiles_w, s.first = first;                   \
    s.has_bias = has_bias;                                                                                             \
    if (const char *broken = broken_spectra(spectra, s.frequencies()))                                                 \
      return refuse(user_context, broken);                                                                             \
    if (cuda)                                                                                                          \
      return launch(user_context, &state, output_image, s, {spectra, bias, y});                                        \
    output(s, reinterpret_cast<float *>(spectra->host), bias->host, y->host);                                          \
    return 0;                                                                                                          \
  }

// Refuses spectra that are not whole tiles of the row's.
#define FAKE_PRODUCT(name, tile_oc, tile_n, step_ic, cuda)                                                             \
  extern "C" int name(const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *y) {          \
    static void *state;                                                                                                \
    const ProductSizes s = {extent(x, 0), extent(w, 0), extent(x, 2), extent(x, 3)};                                   \
    for (halide_buffer_t * b : {x, w, y})                                                                              \
      if (const char *broken = broken_spectra(b, s.f))                                                                 \
        return refuse(user_context, broken);                                                                           \
    if (s.n % (tile_n) || s.oc % (tile_oc) || s.ic % (step_ic) || extent(y, 0) != s.n || extent(y, 2) != s.oc ||       \
        extent(w, 2) != s.ic)                                                                                          \
      return refuse(user_context, "spectra are not whole tiles");                                                      \
    if (cuda)                                                                                                          \
      return launch(user_context, &state, product_image, s, {x, w, y});                                                \
    multiply(s, reinterpret_cast<float *>(x->host), reinterpret_cast<float *>(w->host),                                \
             reinterpret_cast<float *>(y->host));                                                                      \
    return 0;                                                                                                          \
  }

FAKE_TRANSFORM(conv2d_transform_f32_fft32x32_cuda, 32, 32, true)
FAKE_TRANSFORM(conv2d_transform_f32_fft16x32_cuda, 16, 32, true)
FAKE_TRANSFORM(conv2d_transform_bf16_fft32x32_cuda, 32, 32, true)
FAKE_TRANSFORM(conv2d_transform_f32_fft32x32_cpu_avx2, 32, 32, false)
FAKE_PRODUCT(spectral_product_f32_oc32x16_cuda, 32, 16, 8, true)
FAKE_PRODUCT(spectral_product_f32_oc64x64_cuda, 64, 64, 8, true)
FAKE_PRODUCT(spectral_product_f32_oc8x4_cpu_avx2, 8, 4, 1, false)
