#include "fourier.h"

#include <cmath>

using namespace Halide;

namespace hconv {

namespace {

Complex operator+(const Complex &a, const Complex &b) {
  return {a.re + b.re, a.im + b.im};
}
Complex operator-(const Complex &a, const Complex &b) {
  return {a.re - b.re, a.im - b.im};
}

/** a + w b and a - w b, where w = exp(sign * 2 pi i k / size) and 0 <= k < size / 2. The quarters of the circle and
 * what lies between them take fewer operations; their cosines are never computed, as they would not come out as 0. */
void butterfly(const Complex &a, const Complex &b, int k, int size, int sign, Complex &sum, Complex &difference) {
  Complex turned;
  if (k == 0) {
    turned = b;
  } else if (4 * k == size) {
    turned = sign > 0 ? Complex{-b.im, b.re} : Complex{b.im, -b.re};
  } else if (8 * k == size || 8 * k == 3 * size) {
    const float half_diagonal = float(std::sqrt(0.5));
    const Complex quarter = sign > 0 ? Complex{-b.im, b.re} : Complex{b.im, -b.re};
    turned = 8 * k == size ? quarter + b : quarter - b;
    turned = {turned.re * half_diagonal, turned.im * half_diagonal};
  } else {
    const double angle = 2 * std::acos(-1.0) * k / size;
    const float c = float(std::cos(angle)), s = float(sign * std::sin(angle));
    turned = {b.re * c - b.im * s, b.re * s + b.im * c};
  }
  sum = a + turned;
  difference = a - turned;
}

size_t reversed_bits(size_t i, size_t size) {
  size_t result = 0;
  for (size_t bit = 1; bit < size; bit *= 2)
    result = result * 2 + (i / bit) % 2;
  return result;
}

} // namespace

Line fourier_transform(const Line &in, Direction direction, const Hold &hold) {
  const size_t points = in.size();
  _halide_user_assert(points >= 2 && (points & (points - 1)) == 0)
      << "A transform of " << points << " points, expected a power of two";
  Line line(points);
  for (size_t i = 0; i < points; i++)
    line[i] = in[reversed_bits(i, points)];
  const int sign = direction == Direction::forward ? -1 : 1;
  for (size_t size = 2; size <= points; size *= 2) {
    Line next(points);
    for (size_t first = 0; first < points; first += size) {
      for (size_t k = 0; k < size / 2; k++) {
        const size_t low = first + k, high = low + size / 2;
        butterfly(line[low], line[high], int(k), int(size), sign, next[low], next[high]);
      }
    }
    line = size < points ? hold(next) : next;
  }
  return line;
}

} // namespace hconv
