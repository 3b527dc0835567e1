// fourier_transform() of lines against the definition.
#include "generators/fourier.h"
#include "reference.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace Halide;

namespace spectrum_test {

namespace {

/** Points, and levels of a pass: 0 for one level of the whole line after the other. */
class Fourier : public testing::TestWithParam<std::tuple<int, int>> {
protected:
  const int points = std::get<0>(GetParam()), pass = std::get<1>(GetParam());

  /** The transform of `in` through the JIT, as parts in turn. */
  Buffer<float> transform(const Buffer<float> &in, hconv::Direction direction) {
    Var at("at");
    std::vector<Func> levels;
    auto keep = [&](const hconv::Line &line) {
      Func level("level");
      std::vector<Expr> parts;
      for (const hconv::Complex &z : line)
        parts.insert(parts.end(), {z.re, z.im});
      level(at) = mux(at, parts);
      level.compute_root();
      levels.push_back(level);
      hconv::Line read;
      for (int i = 0; i < int(line.size()); i++)
        read.push_back({level(2 * i), level(2 * i + 1)});
      return read;
    };
    hconv::Line line;
    for (int i = 0; i < points; i++)
      line.push_back({in(2 * i), in(2 * i + 1)});
    keep(pass > 0 ? hconv::fourier_transform(line, direction, keep, pass)
                  : hconv::fourier_transform(line, direction, keep));
    Buffer<float> out = levels.back().realize({2 * points});
    return out;
  }

  void check(hconv::Direction direction) {
    Buffer<float> in(2 * points);
    Plane exact;
    for (int i = 0; i < points; i++) {
      in(2 * i) = float(std::sin(1.0 + i * i));
      in(2 * i + 1) = float(std::cos(3.0 * i * i));
      exact.emplace_back(in(2 * i), in(2 * i + 1));
    }
    const Plane expected =
        discrete_fourier_transform(exact, 1, points, direction == hconv::Direction::forward ? -1 : 1);
    const Buffer<float> actual = transform(in, direction);
    Plane error = expected;
    for (int i = 0; i < points; i++)
      error[size_t(i)] -= std::complex<double>(actual(2 * i), actual(2 * i + 1));
    EXPECT_LE(norm(error), relative_bound(1, points) * norm(expected));
  }
};

TEST_P(Fourier, Forward) {
  check(hconv::Direction::forward);
}
TEST_P(Fourier, Inverse) {
  check(hconv::Direction::inverse);
}

INSTANTIATE_TEST_SUITE_P(Points, Fourier,
                         testing::Combine(testing::Values(2, 4, 8, 16, 32, 64), testing::Values(0, 1, 2, 3)));

} // namespace

} // namespace spectrum_test
