// The product of spectra as Halide Funcs, compiled for this CPU without any schedule of ours.
#include "generators/product_algorithm.h"
#include "spectra.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace hconv_test;

namespace {

Halide::Buffer<float> buffer_of(Spectra &s) {
  return Halide::Buffer<float>(s.values.data(), {s.inner, 2, s.channels, s.frequencies});
}

class ProductAlgorithm : public testing::TestWithParam<hconv::ComplexProduct> {
protected:
  Spectra multiplied(Spectra x, Spectra w) {
    Halide::ImageParam x_in(Halide::Float(32), 4, "x"), w_in(Halide::Float(32), 4, "w");
    x_in.set(buffer_of(x));
    w_in.set(buffer_of(w));
    hconv::SpectralProduct p = hconv::spectral_product(x_in, w_in, x_in.dim(2).extent(), GetParam());
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
};

TEST_P(ProductAlgorithm, OneComplexProductIsExact) {
  Spectra x(1, 1, 1), w(1, 1, 1);
  x.values = {2, 3};
  w.values = {5, -7};
  EXPECT_EQ(multiplied(x, w).values, (std::vector<float>{31, 1})); // (2 + 3i) (5 - 7i)
}

TEST_P(ProductAlgorithm, SmallIntegersAreExact) {
  expect_product(Spectra::integers(5, 7, 3, 1), Spectra::integers(4, 7, 3, 2), 0);
}

TEST_P(ProductAlgorithm, RealsAreWithinTheBound) {
  expect_product(Spectra::reals(6, 300, 2, 3), Spectra::reals(5, 300, 2, 4), product_error(300));
}

// Of three products each is as large as the result or larger, and its sum never shrinks.
TEST_P(ProductAlgorithm, CorrelatedSpectraAreWithinTheBound) {
  const Spectra x = Spectra::reals(6, 300, 2, 9);
  expect_product(x, x, product_error(300));
}

// Frequencies 0 and half of the extent of a real tensor.
TEST_P(ProductAlgorithm, RealSpectraHaveRealProducts) {
  Spectra x = Spectra::reals(6, 40, 1, 5), w = Spectra::reals(5, 40, 1, 6);
  for (int ic = 0; ic < 40; ic++) {
    for (int n = 0; n < 6; n++)
      x(n, 1, ic, 0) = 0;
    for (int oc = 0; oc < 5; oc++)
      w(oc, 1, ic, 0) = 0;
  }
  const Spectra y = multiplied(x, w);
  for (int oc = 0; oc < 5; oc++)
    for (int n = 0; n < 6; n++)
      EXPECT_EQ(y(n, 1, oc, 0), 0.f);
}

// One chain of additions of random terms: its error grows with the root of its length, and three products cost nothing
// beside four. The bound is half a unit in the last place of the result a root of a step, twice what is expected.
TEST_P(ProductAlgorithm, ErrorGrowsWithTheRootOfTheChannels) {
  for (int channels : {64, 256, 1024}) {
    const Spectra x = Spectra::reals(16, channels, 1, 7), w = Spectra::reals(16, channels, 1, 8);
    EXPECT_LT(relative_error(multiplied(x, w), product(x, w)), 0x1p-25 * std::sqrt(2.0 * channels)) << channels;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ProductAlgorithm,
                         testing::Values(hconv::ComplexProduct::four, hconv::ComplexProduct::three),
                         [](const auto &info) {
                           return std::string(info.param == hconv::ComplexProduct::four ? "Four" : "Three");
                         });

} // namespace
