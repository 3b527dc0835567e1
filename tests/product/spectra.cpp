#include "spectra.h"

#include <cmath>
#include <cstdio>
#include <random>

namespace hconv_test {

namespace {

template <typename Value> Spectra filled(int inner, int channels, int frequencies, uint32_t seed, Value value) {
  Spectra s(inner, channels, frequencies);
  std::mt19937 random(seed);
  for (float &v : s.values)
    v = value(random());
  return s;
}

} // namespace

Spectra Spectra::integers(int inner, int channels, int frequencies, uint32_t seed) {
  return filled(inner, channels, frequencies, seed, [](uint32_t bits) { return float(int(bits % 15) - 7); });
}

Spectra Spectra::reals(int inner, int channels, int frequencies, uint32_t seed) {
  return filled(inner, channels, frequencies, seed, [](uint32_t bits) { return float(int32_t(bits) >> 8) * 0x1p-23f; });
}

Product product(const Spectra &x, const Spectra &w) {
  const Spectra y(x.inner, w.inner, x.frequencies);
  Product p{std::vector<double>(y.values.size()), std::vector<double>(y.values.size())};
  for (int f = 0; f < x.frequencies; f++)
    for (int ic = 0; ic < x.channels; ic++)
      for (int oc = 0; oc < w.inner; oc++)
        for (int n = 0; n < x.inner; n++)
          for (int x_part = 0; x_part < 2; x_part++)
            for (int w_part = 0; w_part < 2; w_part++) {
              const double term = double(x(n, x_part, ic, f)) * w(oc, w_part, ic, f);
              const size_t at = y.at(n, x_part ^ w_part, oc, f);
              p.values[at] += x_part && w_part ? -term : term;
              p.sizes[at] += std::fabs(term);
              p.sizes[y.at(n, 1 - (x_part ^ w_part), oc, f)] += std::fabs(term);
            }
  return p;
}

double product_error(int channels) {
  // A term is rounded once a step, and a few times when it is made and when sums are added.
  const double nu = (2 * channels + 8) * 0x1p-24;
  return nu / (1 - nu);
}

Mismatch compare(const Spectra &y, const Product &expected, double bound) {
  Mismatch m;
  for (int f = 0; f < y.frequencies; f++)
    for (int oc = 0; oc < y.channels; oc++)
      for (int part = 0; part < 2; part++)
        for (int n = 0; n < y.inner; n++) {
          const size_t at = y.at(n, part, oc, f);
          const double error = std::fabs(double(y.values[at]) - expected.values[at]);
          if (expected.sizes[at] > 0)
            m.worst = std::fmax(m.worst, error / expected.sizes[at]);
          if (!(error <= bound * expected.sizes[at]) && m.count++ == 0) // a NaN is a mismatch
            std::snprintf(m.first, sizeof m.first, "y[n=%d, part=%d, oc=%d, f=%d] is %.9g, expected %.9g", n, part, oc,
                          f, double(y.values[at]), expected.values[at]);
        }
  return m;
}

double relative_error(const Spectra &y, const Product &expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < y.values.size(); i++) {
    error += std::pow(double(y.values[i]) - expected.values[i], 2);
    norm += std::pow(expected.values[i], 2);
  }
  return std::sqrt(error / norm);
}

} // namespace hconv_test
