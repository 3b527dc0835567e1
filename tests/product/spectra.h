/** Spectra in host memory and their product in float64, for the tests of spectral_product. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hconv_test {

/** Planar complex float32 [f][channel][part][inner], as the product reads and writes it. */
struct Spectra {
  int inner, channels, frequencies;
  std::vector<float> values;

  Spectra(int inner, int channels, int frequencies)
      : inner(inner), channels(channels), frequencies(frequencies),
        values(size_t(inner) * 2 * size_t(channels) * size_t(frequencies)) {}

  size_t at(int i, int part, int channel, int f) const {
    return (size_t(f * channels + channel) * 2 + size_t(part)) * size_t(inner) + size_t(i);
  }
  float &operator()(int i, int part, int channel, int f) { return values[at(i, part, channel, f)]; }
  float operator()(int i, int part, int channel, int f) const { return values[at(i, part, channel, f)]; }
  size_t bytes() const { return values.size() * sizeof(float); }

  /** Integers from -7 to 7 without a pattern: sums of their products are exact. */
  static Spectra integers(int inner, int channels, int frequencies, uint32_t seed);
  /** Numbers between -1 and 1. */
  static Spectra reals(int inner, int channels, int frequencies, uint32_t seed);
};

/** Y[n,.,oc,f] in float64, and what bounds its error: the sum of (|xr| + |xi|) (|wr| + |wi|), for both parts. */
struct Product {
  std::vector<double> values, sizes; // indexed as Spectra(n, oc, f)
};
Product product(const Spectra &x, const Spectra &w);

/** Largest error of a complex product over `channels` in float32, in units of what bounds it, whether it is made of
 * four real products or of three (an imaginary part (x_r + x_i) (w_r + w_i) - x_r w_r - x_i w_i has sums that are twice
 * as large but half as long), in whatever order. */
double product_error(int channels);

/** Number of elements of y that are off by more than `bound` times their size, the first of them in words. */
struct Mismatch {
  size_t count = 0;
  double worst = 0; // largest error by size
  char first[160] = "";
};
Mismatch compare(const Spectra &y, const Product &expected, double bound);

/** |y - expected| / |expected|, in the Euclidean norm. */
double relative_error(const Spectra &y, const Product &expected);

} // namespace hconv_test
