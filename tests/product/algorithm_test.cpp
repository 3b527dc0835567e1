// The product of spectra as Halide Funcs, compiled for this CPU without any schedule of ours.
#include "generators/product_algorithm.h"
#include "spectra.h"

#include <gtest/gtest.h>

using namespace hconv_test;

namespace {

Halide::Buffer<float> buffer_of(Spectra &s) {
  return Halide::Buffer<float>(s.values.data(), {s.inner, 2, s.channels, s.frequencies});
}

Spectra multiplied(Spectra x, Spectra w) {
  Halide::ImageParam x_in(Halide::Float(32), 4, "x"), w_in(Halide::Float(32), 4, "w");
  x_in.set(buffer_of(x));
  w_in.set(buffer_of(w));
  hconv::SpectralProduct p = hconv::spectral_product(x_in, w_in, x_in.dim(2).extent());
  Spectra y(x.inner, w.inner, x.frequencies);
  Halide::Buffer<float> out = buffer_of(y);
  p.acc.compute_root();
  p.y.realize(out);
  return y;
}

void expect_product(const Spectra &x, const Spectra &w, double bound) {
  const Mismatch m = compare(multiplied(x, w), product(x, w), bound);
  EXPECT_EQ(m.count, 0u) << m.first;
}

TEST(ProductAlgorithm, OneComplexProductIsExact) {
  Spectra x(1, 1, 1), w(1, 1, 1);
  x.values = {2, 3};
  w.values = {5, -7};
  EXPECT_EQ(multiplied(x, w).values, (std::vector<float>{31, 1})); // (2 + 3i) (5 - 7i)
}

TEST(ProductAlgorithm, SmallIntegersAreExact) {
  expect_product(Spectra::integers(5, 7, 3, 1), Spectra::integers(4, 7, 3, 2), 0);
}

TEST(ProductAlgorithm, RealsAreWithinTheBoundOfOneChain) {
  expect_product(Spectra::reals(6, 300, 2, 3), Spectra::reals(5, 300, 2, 4), sum_error(2 * 300));
}

} // namespace
