#include "reference.h"

#include <cmath>
#include <limits>

namespace spectrum_test {

namespace {

/** exp(sign 2 pi i k / n) */
std::vector<std::complex<double>> roots(int n, int sign) {
  std::vector<std::complex<double>> w;
  for (int k = 0; k < n; k++)
    w.push_back(std::polar(1.0, sign * 2 * std::acos(-1.0) * k / n));
  return w;
}

} // namespace

Spectra::Spectra(int n, int channels, int frequencies)
    : n_extent(n), channels(channels), frequencies(frequencies),
      values(size_t(n) * 2 * size_t(channels) * size_t(frequencies), std::numeric_limits<float>::quiet_NaN()) {}

Plane discrete_fourier_transform(const Plane &tile, int th, int tw, int sign) {
  const auto along_w = roots(tw, sign), along_h = roots(th, sign);
  Plane rows(tile.size()), all(tile.size());
  for (int h = 0; h < th; h++)
    for (int k2 = 0; k2 < tw; k2++)
      for (int w = 0; w < tw; w++)
        rows[size_t(h * tw + k2)] += tile[size_t(h * tw + w)] * along_w[size_t(k2 * w % tw)];
  for (int k1 = 0; k1 < th; k1++)
    for (int h = 0; h < th; h++)
      for (int k2 = 0; k2 < tw; k2++)
        all[size_t(k1 * tw + k2)] += rows[size_t(h * tw + k2)] * along_h[size_t(k1 * h % th)];
  return all;
}

std::vector<Frequency> kept_frequencies(int th, int tw) {
  std::vector<Frequency> kept;
  for (int k2 = 1; k2 < tw / 2; k2++)
    for (int k1 = 0; k1 < th; k1++)
      kept.push_back({k1, k2});
  for (int k2 : {0, tw / 2})
    for (int k1 = 0; k1 <= th / 2; k1++)
      kept.push_back({k1, k2});
  return kept;
}

double relative_bound(int th, int tw) {
  const double u = std::ldexp(1.0, -24), gamma_4 = 4 * u / (1 - 4 * u);
  const double level = u + gamma_4 * (std::sqrt(2.0) + u), levels = std::log2(double(th) * tw) + 2;
  return levels * level / (1 - levels * level);
}

double norm(const Plane &plane) {
  double sum = 0;
  for (const auto &z : plane)
    sum += std::norm(z);
  return std::sqrt(sum);
}

} // namespace spectrum_test
