// The transforms against their definition in float64, over all variants that the program was linked with.
#include "reference.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace spectrum_test {

namespace {

const int N = 32; // whole groups of every variant

Elements random_elements(Element type, const Extent &extent, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Elements elements(type, size_t(extent[0]) * size_t(extent[1]) * size_t(extent[2]) * size_t(extent[3]));
  for (size_t i = 0; i < elements.size(); i++)
    elements.set(i, normal(generator));
  return elements;
}

size_t place(const Extent &extent, int w, int h, int c, int b) {
  return ((size_t(b) * size_t(extent[2]) + size_t(c)) * size_t(extent[1]) + size_t(h)) * size_t(extent[0]) + size_t(w);
}

double value_or_zero(const Elements &x, const Extent &extent, int w, int h, int c, int b) {
  const bool inside = w >= 0 && w < extent[0] && h >= 0 && h < extent[1] && c < extent[2] && b < extent[3];
  return inside ? x.value(place(extent, w, h, c, b)) : 0;
}

class Spectrum : public testing::TestWithParam<Variant> {
protected:
  const Variant v = GetParam();
  Transforms &transforms = transforms_of(v);

  Spectra spectra(int channels) const { return {N, channels, v.frequencies()}; }

  /** Expects column n of `channel` to be the kept half of `expected`, within the bound on the whole of it. */
  void expect_spectrum(const Spectra &actual, int n, int channel, const Plane &expected, const std::string &what) {
    const auto kept = kept_frequencies(v.th, v.tw);
    ASSERT_EQ(int(kept.size()), v.frequencies());
    double squares = 0;
    for (int f = 0; f < v.frequencies(); f++) {
      const auto [k1, k2] = kept[size_t(f)];
      const std::complex<double> z(actual.at(n, 0, channel, f), actual.at(n, 1, channel, f));
      // The other half is the same again, conjugated.
      const bool twice = k2 % (v.tw / 2) != 0 || k1 % (v.th / 2) != 0;
      squares += (twice ? 2 : 1) * std::norm(z - expected[size_t(k1 * v.tw + k2)]);
    }
    EXPECT_LE(std::sqrt(squares), relative_bound(v.th, v.tw) * norm(expected)) << what;
  }

  /** All of an input transform. */
  void check_input(const Extent &extent, int pad_top, int pad_left, const Grid &grid, int channels) {
    const Elements x = random_elements(v.type, extent, 1);
    Spectra actual = spectra(channels);
    transforms.input(x, extent, pad_top, pad_left, grid, actual);
    for (float value : actual.values)
      ASSERT_TRUE(std::isfinite(value));
    for (int n = 0; n < N; n++) {
      const int t = grid.first_tile + n, per_image = grid.tiles_h * grid.tiles_w, b = t / per_image;
      const int h0 = t % per_image / grid.tiles_w * grid.step_h - pad_top;
      const int w0 = t % grid.tiles_w * grid.step_w - pad_left;
      for (int c = 0; c < channels && b < extent[3]; c++) {
        Plane tile;
        for (int h = 0; h < v.th; h++)
          for (int w = 0; w < v.tw; w++)
            tile.push_back(value_or_zero(x, extent, w0 + w, h0 + h, c, b));
        expect_spectrum(actual, n, c, discrete_fourier_transform(tile, v.th, v.tw, -1),
                        "tile " + std::to_string(n) + ", channel " + std::to_string(c));
      }
    }
  }

  void check_weights(int kh, int kw, int ic, int oc, int channels) {
    const Extent extent = {kw, kh, ic, oc};
    const Elements w = random_elements(v.type, extent, 2);
    Spectra actual = spectra(channels);
    transforms.weights(w, extent, actual);
    for (int n = 0; n < N; n++) {
      for (int c = 0; c < channels; c++) {
        Plane tile;
        for (int h = 0; h < v.th; h++)
          for (int x = 0; x < v.tw; x++)
            tile.push_back(value_or_zero(w, extent, x, h, c, n) / (v.th * v.tw));
        Plane expected = discrete_fourier_transform(tile, v.th, v.tw, -1);
        for (auto &z : expected)
          z = std::conj(z);
        expect_spectrum(actual, n, c, expected, "oc " + std::to_string(n) + ", ic " + std::to_string(c));
      }
    }
  }

  /** The inverse of random spectra, of real tiles; also what is written and what is not. */
  void check_output(const Extent &extent, const Grid &grid, int channels, bool with_bias) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    const auto kept = kept_frequencies(v.th, v.tw);
    Spectra in = spectra(channels);
    for (float &value : in.values)
      value = normal(generator);
    for (int f = 0; f < v.frequencies(); f++)
      if (kept[size_t(f)].k1 % (v.th / 2) == 0 && kept[size_t(f)].k2 % (v.tw / 2) == 0)
        for (int n = 0; n < N; n++)
          for (int c = 0; c < channels; c++)
            in.at(n, 1, c, f) = 0; // its own mirror
    const Elements bias = random_elements(v.type, {extent[2], 1, 1, 1}, 4);
    Elements y(v.type, place(extent, 0, 0, 0, extent[3]));
    for (size_t i = 0; i < y.size(); i++)
      y.set(i, std::numeric_limits<double>::quiet_NaN());
    transforms.output(in, with_bias ? &bias : nullptr, grid, extent, y);

    std::vector<double> expected(y.size(), std::numeric_limits<double>::quiet_NaN()), bound(y.size());
    for (int n = 0; n < N; n++) {
      const int t = grid.first_tile + n, per_image = grid.tiles_h * grid.tiles_w, b = t / per_image;
      const int h0 = t % per_image / grid.tiles_w * grid.step_h, w0 = t % grid.tiles_w * grid.step_w;
      for (int c = 0; c < extent[2] && b < extent[3]; c++) {
        Plane whole(size_t(v.th * v.tw));
        for (int f = 0; f < v.frequencies(); f++) {
          const auto [k1, k2] = kept[size_t(f)];
          const std::complex<double> z(in.at(n, 0, c, f), in.at(n, 1, c, f));
          whole[size_t((v.th - k1) % v.th * v.tw + (v.tw - k2) % v.tw)] = std::conj(z);
          whole[size_t(k1 * v.tw + k2)] = z;
        }
        const Plane tile = discrete_fourier_transform(whole, v.th, v.tw, 1);
        for (int h = 0; h < grid.step_h && h0 + h < extent[1]; h++)
          for (int w = 0; w < grid.step_w && w0 + w < extent[0]; w++) {
            const size_t i = place(extent, w0 + w, h0 + h, c, b);
            expected[i] = tile[size_t(h * v.tw + w)].real() + (with_bias ? bias.value(size_t(c)) : 0);
            // The bound holds for the norm, so for each element; then bias and store round once each.
            bound[i] = relative_bound(v.th, v.tw) * norm(tile) + std::ldexp(std::fabs(expected[i]), -24) +
                       hconv_test::unit_roundoff(v.type) * std::fabs(expected[i]);
            bound[i] *= 1 + 1e-3; // the errors' own errors
          }
      }
    }
    int wrong = 0;
    for (size_t i = 0; i < y.size(); i++) {
      const double actual = y.value(i);
      const bool right = std::isnan(expected[i]) ? std::isnan(actual) : std::fabs(actual - expected[i]) <= bound[i];
      if (!right && wrong++ == 0)
        ADD_FAILURE() << "y[" << i << "] is " << actual << ", expected " << expected[i] << " +- " << bound[i];
    }
    EXPECT_EQ(wrong, 0) << "of " << y.size();
  }
};

TEST_P(Spectrum, InputTilesInsideAndBeyondTheBorders) {
  // Three tiles a row, the last one far beyond x; odd channels, of which one is padding.
  check_input({v.tw + 5, v.th - 3, 3, 2}, 2, 1, {v.th - 2, v.tw / 2, 2, 3, 0}, 4);
}
TEST_P(Spectrum, InputFromALaterTileOn) {
  check_input({2 * v.tw, 2 * v.th, 1, 3}, 0, 0, {v.th / 2 + 1, v.tw - 2, 4, 3, 17}, 1);
}
TEST_P(Spectrum, InputOfOnePixelInAllThatPadding) {
  check_input({1, 1, 1, 2}, v.th - 1, v.tw - 1, {1, 1, v.th - 1, v.tw - 1, v.tw}, 2);
}

TEST_P(Spectrum, ImpulseIsFlat) {
  const Extent extent = {v.tw, v.th, 1, 1};
  Elements x(v.type, std::vector<double>(size_t(v.tw * v.th), 0.0));
  x.set(0, 1.25);
  Spectra actual = spectra(1);
  transforms.input(x, extent, 0, 0, {1, 1, 1, 1, 0}, actual);
  for (int f = 0; f < v.frequencies(); f++) {
    ASSERT_EQ(actual.at(0, 0, 0, f), 1.25f) << "f " << f;
    ASSERT_EQ(actual.at(0, 1, 0, f), 0.0f) << "f " << f;
  }
}

TEST_P(Spectrum, ConstantHasOneFrequency) {
  const Extent extent = {v.tw, v.th, 1, 1};
  const Elements x(v.type, std::vector<double>(size_t(v.tw * v.th), 3.0));
  Spectra actual = spectra(1);
  transforms.input(x, extent, 0, 0, {1, 1, 1, 1, 0}, actual);
  const int zero = v.th * (v.tw / 2 - 1);
  for (int f = 0; f < v.frequencies(); f++) {
    ASSERT_EQ(actual.at(0, 0, 0, f), f == zero ? 3.0f * float(v.th * v.tw) : 0.0f) << "f " << f;
    ASSERT_EQ(actual.at(0, 1, 0, f), 0.0f) << "f " << f;
  }
}

TEST_P(Spectrum, WeightsOfARectangle) {
  check_weights(3, 7, 3, 5, 4);
}
TEST_P(Spectrum, WeightsAsLargeAsATile) {
  check_weights(v.th, v.tw, 1, N, 1);
}
TEST_P(Spectrum, WeightsOfOneTap) {
  check_weights(1, 1, 2, 3, 2);
}

TEST_P(Spectrum, OutputTilesThatHangOver) {
  const Grid grid = {v.th / 2 + 1, v.tw - 6, 2, 3, 0};
  check_output({2 * grid.step_w + 3, grid.step_h + 1, 3, 2}, grid, 4, true);
}
TEST_P(Spectrum, OutputFromALaterTileOn) {
  const Grid grid = {v.th - 3, 3, 3, 7, 10};
  check_output({7 * grid.step_w, 3 * grid.step_h, 1, 3}, grid, 1, false);
}
TEST_P(Spectrum, OutputOfOnePixelATile) {
  check_output({4, 5, 2, 2}, {1, 1, 5, 4, 0}, 2, true);
}
TEST_P(Spectrum, OutputOfWholeTiles) {
  check_output({v.tw, v.th, 1, 3}, {v.th, v.tw, 1, 1, 0}, 1, true);
}

/** Transform, multiply in float64, transform back: the convolution itself. */
TEST_P(Spectrum, ProductsOfSpectraConvolve) {
  const int kh = 4, kw = 7, ic = 3, oc = 2, top = 2, left = 3;
  const Extent x_extent = {v.tw + 9, v.th + 2, ic, 1}, w_extent = {kw, kh, ic, oc};
  const Extent y_extent = {x_extent[0] + 2 * left - kw + 1, x_extent[1] + 2 * top - kh + 1, oc, 1};
  Grid grid = {v.th - kh + 1, v.tw - kw + 1, 0, 0, 0};
  grid.tiles_h = (y_extent[1] + grid.step_h - 1) / grid.step_h;
  grid.tiles_w = (y_extent[0] + grid.step_w - 1) / grid.step_w;
  ASSERT_LE(grid.tiles_h * grid.tiles_w, N);
  const Elements x = random_elements(v.type, x_extent, 5), w = random_elements(v.type, w_extent, 6);
  Spectra xs = spectra(ic), ws = spectra(ic), ys = spectra(oc);
  transforms.input(x, x_extent, top, left, grid, xs);
  transforms.weights(w, w_extent, ws);
  for (int f = 0; f < v.frequencies(); f++)
    for (int c = 0; c < oc; c++)
      for (int n = 0; n < N; n++) {
        std::complex<double> sum;
        for (int k = 0; k < ic; k++)
          sum += std::complex<double>(xs.at(n, 0, k, f), xs.at(n, 1, k, f)) *
                 std::complex<double>(ws.at(c, 0, k, f), ws.at(c, 1, k, f));
        ys.at(n, 0, c, f) = float(sum.real());
        ys.at(n, 1, c, f) = float(sum.imag());
      }
  Elements y(v.type, place(y_extent, 0, 0, 0, 1));
  transforms.output(ys, nullptr, grid, y_extent, y);
  double squares = 0, errors = 0, rounding = 0, largest_x = 0, largest_w = 0;
  for (size_t i = 0; i < x.size(); i++)
    largest_x = std::max(largest_x, std::fabs(x.value(i)));
  for (size_t i = 0; i < w.size(); i++)
    largest_w = std::max(largest_w, std::fabs(w.value(i)));
  for (int c = 0; c < oc; c++)
    for (int oh = 0; oh < y_extent[1]; oh++)
      for (int ow = 0; ow < y_extent[0]; ow++) {
        double sum = 0;
        for (int k = 0; k < ic; k++)
          for (int h = 0; h < kh; h++)
            for (int r = 0; r < kw; r++)
              sum +=
                  value_or_zero(x, x_extent, ow + r - left, oh + h - top, k, 0) * w.value(place(w_extent, r, h, k, c));
        const double actual = y.value(place(y_extent, ow, oh, c, 0));
        squares += sum * sum;
        errors += (actual - sum) * (actual - sum);
        rounding += std::pow(hconv_test::unit_roundoff(v.type) * sum, 2);
      }
  // Three transforms, of norms at most those of a tile and a window whose values all are the largest ones.
  const double sizes = ic * largest_x * std::sqrt(double(v.th * v.tw)) * largest_w * std::sqrt(double(kh * kw));
  const double per_tile = 3 * relative_bound(v.th, v.tw) * sizes * std::sqrt(double(kh * kw));
  EXPECT_LE(std::sqrt(errors), std::sqrt(rounding) + per_tile * std::sqrt(double(oc * grid.tiles_h * grid.tiles_w)));
  EXPECT_LE(std::sqrt(errors), 1e-6 * std::sqrt(squares) + std::sqrt(rounding)); // what the product needs
}

/** A tile's spectrum is bitwise the same wherever in the batch it is. */
TEST_P(Spectrum, TilesDoNotDependOnTheirNeighbours) {
  const Extent one = {v.tw + 3, v.th, 2, 1}, two = {v.tw + 3, v.th, 2, 2};
  const Elements both = random_elements(v.type, two, 7), second = both.slice(both.size() / 2, both.size() / 2);
  const Grid grid = {v.th - 2, v.tw - 2, 1, 3, 0};
  Spectra batch = spectra(2), alone = spectra(2);
  transforms.input(both, two, 1, 1, grid, batch);
  transforms.input(second, one, 1, 1, grid, alone);
  for (int f = 0; f < v.frequencies(); f++)
    for (int c = 0; c < 2; c++)
      for (int part = 0; part < 2; part++)
        for (int n = 0; n < 3; n++)
          ASSERT_EQ(batch.at(n + 3, part, c, f), alone.at(n, part, c, f));
}

/** A NaN reaches all frequencies of its tile, and nothing else. */
TEST_P(Spectrum, NanStaysInItsTile) {
  const Extent extent = {3 * v.tw, v.th, 2, 1};
  Elements x = random_elements(v.type, extent, 8);
  x.set(place(extent, v.tw + 5, 6, 1, 0), std::numeric_limits<double>::quiet_NaN());
  Spectra actual = spectra(2);
  transforms.input(x, extent, 0, 0, {v.th, v.tw, 1, 3, 0}, actual);
  for (int n = 0; n < 3; n++)
    for (int c = 0; c < 2; c++)
      for (int f = 0; f < v.frequencies(); f++)
        ASSERT_EQ(std::isnan(actual.at(n, 0, c, f)) || std::isnan(actual.at(n, 1, c, f)), n == 1 && c == 1)
            << "n " << n << " ic " << c << " f " << f;
}

INSTANTIATE_TEST_SUITE_P(Variants, Spectrum, testing::ValuesIn(variants()),
                         [](const auto &info) { return info.param.name; });

} // namespace

} // namespace spectrum_test
