#include "fourier.h"

#include <cmath>

using namespace Halide;

namespace hconv {

namespace {

/** a + w b and a - w b, where w = exp(sign * 2 pi i k / size) and 0 <= k < size / 2. The quarters of the circle take no
 * products, and their cosines are never computed, as they would not come out as 0. All other w take six operations that
 * multiply and add: with c the larger part of w and t the ratio of its parts, at most 1,
 *
 *     w b = c (b + i t b)   or, where the imaginary part is larger,   i c (b - i t b) */
void butterfly(const Complex &a, const Complex &b, int k, int size, int sign, Complex &sum, Complex &difference) {
  auto finish = [&](const Complex &turned, float factor) {
    const Complex product = factor == 1 ? turned : Complex{turned.re * factor, turned.im * factor};
    sum = {a.re + product.re, a.im + product.im};
    difference = {a.re - product.re, a.im - product.im};
  };
  const double angle = sign * 2 * std::acos(-1.0) * k / size;
  if (k == 0) {
    finish(b, 1);
  } else if (4 * k == size) {
    finish(sign > 0 ? Complex{-b.im, b.re} : Complex{b.im, -b.re}, 1);
  } else if (8 * k == size || 8 * k == 3 * size) {
    // Equal parts: the larger of two that differ by rounding would be chance.
    const float side = sign > 0 ? 1.0f : -1.0f, half_diagonal = float(std::sqrt(0.5));
    const Complex turned = sign > 0 ? Complex{b.re - b.im, b.im + b.re} : Complex{b.re + b.im, b.im - b.re};
    if (8 * k == size)
      finish(turned, half_diagonal);
    else
      finish({-turned.im, turned.re}, side * half_diagonal);
  } else if (std::fabs(std::cos(angle)) > std::fabs(std::sin(angle))) {
    const float t = float(std::tan(angle));
    finish({b.re - b.im * t, b.im + b.re * t}, float(std::cos(angle)));
  } else {
    const float t = float(1 / std::tan(angle));
    finish({b.re * t - b.im, b.im * t + b.re}, float(std::sin(angle)));
  }
}

size_t reversed_bits(size_t i, size_t size) {
  size_t result = 0;
  for (size_t bit = 1; bit < size; bit *= 2)
    result = result * 2 + (i / bit) % 2;
  return result;
}

Line in_reversed_bits(const Line &in) {
  const size_t points = in.size();
  _halide_user_assert(points >= 2 && (points & (points - 1)) == 0)
      << "A transform of " << points << " points, expected a power of two";
  Line line(points);
  for (size_t i = 0; i < points; i++)
    line[i] = in[reversed_bits(i, points)];
  return line;
}

int sign_of(Direction direction) {
  return direction == Direction::forward ? -1 : 1;
}

/** One level of butterflies that makes transforms of `size` points, on those of a line's points that are `stride`
 * apart from `first` on. */
Line level_of(const Line &points, size_t first, size_t stride, size_t size, int sign) {
  const size_t half = size / 2 / stride; // apart in `points`
  Line next(points.size());
  for (size_t low = 0; low < points.size(); low++) {
    const size_t high = low + half;
    if (low / half % 2 == 0)
      butterfly(points[low], points[high], int((first + low * stride) % size), int(size), sign, next[low], next[high]);
  }
  return next;
}

} // namespace

Line fourier_transform(const Line &in, Direction direction, const Hold &hold) {
  Line line = in_reversed_bits(in);
  for (size_t size = 2; size <= in.size(); size *= 2) {
    line = level_of(line, 0, 1, size, sign_of(direction));
    if (size < in.size())
      line = hold(line);
  }
  return line;
}

Line fourier_transform(const Line &in, Direction direction, const Hold &hold, int levels) {
  Line line = in_reversed_bits(in);
  size_t all_levels = 0;
  while (size_t(1) << all_levels < in.size())
    all_levels++;
  size_t passes = (all_levels + size_t(levels) - 1) / size_t(levels);
  for (size_t done = 0; passes > 0; passes--) {
    const size_t now = (all_levels - done + passes - 1) / passes; // levels of this pass
    const size_t stride = size_t(1) << done, taken = size_t(1) << now;
    for (size_t block = 0; block < in.size(); block += stride * taken) {
      for (size_t first = block; first < block + stride; first++) {
        Line points(taken);
        for (size_t i = 0; i < taken; i++)
          points[i] = line[first + i * stride];
        for (size_t size = 2 * stride; size <= stride * taken; size *= 2) {
          points = level_of(points, first, stride, size, sign_of(direction));
          if (size < in.size())
            points = hold(points);
        }
        for (size_t i = 0; i < taken; i++)
          line[first + i * stride] = points[i];
      }
    }
    done += now;
  }
  return line;
}

} // namespace hconv
