#include "check.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "error.h"

namespace hconv::runtime {
namespace {

using Complex = std::complex<double>;

/// exp(2 pi i k / n) for k in [0, n)
std::vector<Complex> roots_of_one(int64_t n) {
  std::vector<Complex> roots;
  for (int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(1.0, 2 * 3.14159265358979323846 * static_cast<double>(k) / static_cast<double>(n)));
  return roots;
}

/// One channel's spectrum as it is stored: half a plane, k1 along H and k2 along W (docs/transform.md).
struct Place {
  int64_t k1, k2;
};
Place place_of(const TransformLayout &l, int64_t f) {
  const int64_t whole_columns = l.fft_h * (l.fft_w / 2 - 1), real_column = l.fft_h / 2 + 1;
  if (f < whole_columns)
    return {f % l.fft_h, f / l.fft_h + 1};
  f -= whole_columns;
  return f < real_column ? Place{f, 0} : Place{f - real_column, l.fft_w / 2};
}

struct Spectra {
  const TransformLayout &l;
  const std::vector<char> &bytes;

  Complex at(int64_t oc, int64_t ic, int64_t f) const {
    const auto part = [&](int64_t i) {
      float value;
      std::memcpy(&value, bytes.data() + 4 * (((f * l.ic + ic) * 2 + i) * l.oc + oc), sizeof value);
      return static_cast<double>(value);
    };
    return {part(0), part(1)};
  }
};

/// The conjugate transform of taps[KH][KW], over the number of a tile's elements, in the order of the frequencies.
std::vector<Complex> spectrum_of(const TransformLayout &l, const hconv_problem &p, const double *taps) {
  const std::vector<Complex> along_h = roots_of_one(l.fft_h), along_w = roots_of_one(l.fft_w);
  const int64_t columns = l.fft_w / 2 + 1;
  std::vector<Complex> rows(static_cast<size_t>(p.kernel_height * columns)), result;
  for (int64_t h = 0; h < p.kernel_height; ++h)
    for (int64_t k2 = 0; k2 < columns; ++k2)
      for (int64_t w = 0; w < p.kernel_width; ++w)
        rows[h * columns + k2] += taps[h * p.kernel_width + w] * along_w[k2 * w % l.fft_w];
  for (int64_t f = 0; f < l.frequencies; ++f) {
    const auto [k1, k2] = place_of(l, f);
    Complex sum;
    for (int64_t h = 0; h < p.kernel_height; ++h)
      sum += rows[h * columns + k2] * along_h[k1 * h % l.fft_h];
    result.push_back(sum / static_cast<double>(l.fft_h * l.fft_w));
  }
  return result;
}

/// taps[KH][KW] of a conjugate spectrum.
void taps_of(const TransformLayout &l, const hconv_problem &p, const Spectra &spectra, int64_t oc, int64_t ic,
             double *taps) {
  const std::vector<Complex> along_h = roots_of_one(l.fft_h), along_w = roots_of_one(l.fft_w);
  const int64_t columns = l.fft_w / 2 + 1;
  std::vector<Complex> rows(static_cast<size_t>(p.kernel_height * columns));
  for (int64_t f = 0; f < l.frequencies; ++f) {
    const auto [k1, k2] = place_of(l, f);
    const Complex value = std::conj(spectra.at(oc, ic, f));
    const bool mirrored = (k2 == 0 || k2 == l.fft_w / 2) && k1 % (l.fft_h / 2) != 0; // its mirror is not stored
    for (int64_t h = 0; h < p.kernel_height; ++h) {
      rows[h * columns + k2] += value * along_h[k1 * h % l.fft_h];
      if (mirrored)
        rows[h * columns + k2] += std::conj(value * along_h[k1 * h % l.fft_h]);
    }
  }
  for (int64_t h = 0; h < p.kernel_height; ++h)
    for (int64_t w = 0; w < p.kernel_width; ++w) {
      double sum = 0;
      for (int64_t k2 = 0; k2 < columns; ++k2)
        sum += (k2 == 0 || k2 == columns - 1 ? 1 : 2) * (rows[h * columns + k2] * along_w[k2 * w % l.fft_w]).real();
      taps[h * p.kernel_width + w] = sum;
    }
}

double square(double value) {
  return value * value;
}

} // namespace

std::vector<double> weights_of_spectra(const hconv_plan &plan, const std::vector<char> &packed) {
  const hconv_problem &p = plan.problem;
  const int64_t taps = p.kernel_height * p.kernel_width;
  std::vector<double> w(static_cast<size_t>(p.out_channels * plan.geometry.products));
  for (int64_t oc = 0; oc < p.out_channels; ++oc)
    for (int64_t ic = 0; ic < p.in_channels; ++ic)
      taps_of(plan.transform, p, {plan.transform, packed}, oc, ic, &w[(oc * p.in_channels + ic) * taps]);
  return w;
}

hconv_status compare_spectra(const hconv_plan &plan, const std::vector<char> &w, const std::vector<char> &packed) {
  const hconv_problem &p = plan.problem;
  const TransformLayout &l = plan.transform;
  const Spectra found{l, packed};
  const double error = transform_error(p, *plan.variant, *plan.product).spectrum_relative;
  std::vector<double> taps(static_cast<size_t>(p.kernel_height * p.kernel_width));
  for (int64_t oc = 0; oc < l.oc; ++oc)
    for (int64_t ic = 0; ic < l.ic; ++ic) {
      double sum = 0;
      for (size_t i = 0; i < taps.size(); ++i) {
        const bool inside = oc < p.out_channels && ic < p.in_channels;
        taps[i] = inside ? element_value(p, w, (oc * p.in_channels + ic) * taps.size() + i) : 0;
        sum += std::fabs(taps[i]);
      }
      if (!std::isfinite(sum))
        continue; // the spectrum holds NaN, at frequencies that depend on the order of the sums
      const std::vector<Complex> expected = spectrum_of(l, p, taps.data());
      // Each frequency errs by at most that much of the sum of the taps' magnitudes: two real lines travel as one,
      // twice.
      const double tolerance = 4 * error * sum / static_cast<double>(l.fft_h * l.fft_w) + (sum ? 0x1p-146 : 0);
      for (int64_t f = 0; f < l.frequencies; ++f)
        if (!(std::abs(found.at(oc, ic, f) - expected[f]) <= tolerance))
          return fail(HCONV_INTERNAL_ERROR,
                      "HCONV_CHECK: %s transformed weights wrongly: at [oc %lld, ic %lld, f %lld] it has %.9g%+.9gi; "
                      "expected %.9g%+.9gi within %.3g.",
                      plan.variant->name, static_cast<long long>(oc), static_cast<long long>(ic),
                      static_cast<long long>(f), found.at(oc, ic, f).real(), found.at(oc, ic, f).imag(),
                      expected[f].real(), expected[f].imag(), tolerance);
    }
  return HCONV_OK;
}

TransformNorms::TransformNorms(const hconv_plan &plan, const std::vector<char> &x, const std::vector<double> &w) {
  const hconv_problem &p = plan.problem;
  const TransformLayout &l = plan.transform;
  for (int64_t tile = 0; tile < p.batch * l.image_tiles(); ++tile) {
    const int64_t b = tile / l.image_tiles(), in_image = tile % l.image_tiles();
    const int64_t top = in_image / l.tiles_w * l.step_h - p.padding.top;
    const int64_t left = in_image % l.tiles_w * l.step_w - p.padding.left;
    double sum = 0;
    for (int64_t ic = 0; ic < p.in_channels; ++ic)
      for (int64_t h = std::max<int64_t>(top, 0); h < std::min(top + l.fft_h, p.height); ++h)
        for (int64_t i = std::max<int64_t>(left, 0); i < std::min(left + l.fft_w, p.width); ++i)
          sum += square(element_value(p, x, ((b * p.in_channels + ic) * p.height + h) * p.width + i));
    tiles_.push_back(std::sqrt(sum));
  }
  const int64_t products = plan.geometry.products;
  for (int64_t oc = 0; oc < p.out_channels; ++oc) {
    double sum = 0;
    for (int64_t i = 0; i < products; ++i)
      sum += square(w[oc * products + i]);
    filters_.push_back(std::sqrt(sum));
  }
}

Norms TransformNorms::of(const hconv_plan &plan, int64_t b, int64_t oc, int64_t oh, int64_t ow) const {
  const TransformLayout &l = plan.transform;
  const double tile = tiles_[(b * l.tiles_h + oh / l.step_h) * l.tiles_w + ow / l.step_w];
  // The spectra come from the packed weights, which are within the bound themselves.
  const double filter =
      filters_[oc] * (1 + 2 * transform_error(plan.problem, *plan.variant, *plan.product).spectrum_relative);
  const double points = static_cast<double>(l.fft_h * l.fft_w);
  return {tile, filter, 4 * std::max({std::sqrt(points) * tile, std::sqrt(points) * filter, tile * filter})};
}

} // namespace hconv::runtime
