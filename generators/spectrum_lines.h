/** Complex lines kept in Funcs, for the spectrum algorithms. */
#pragma once

#include "spectrum_algorithm.h"
#include <functional>

namespace hconv {

/** Real and imaginary parts in turn: element 2 * point + part. */
inline std::vector<Halide::Expr> parts_of(const Line &line) {
  std::vector<Halide::Expr> parts;
  for (const Complex &z : line) {
    parts.push_back(z.re);
    parts.push_back(z.im);
  }
  return parts;
}

/** f(at, others...) = the part `at` of the line. */
inline void define_line(Halide::Func f, const Halide::Var &at, const std::vector<Halide::Var> &others,
                        const Line &line) {
  std::vector<Halide::Var> args = {at};
  args.insert(args.end(), others.begin(), others.end());
  f(args) = Halide::mux(at, parts_of(line));
}

/** The line that define_line() keeps in f, at other coordinates perhaps. */
inline Line line_of(const Halide::Func &f, size_t points, const std::vector<Halide::Expr> &others) {
  auto read = [&](size_t at) {
    std::vector<Halide::Expr> args = {Halide::Expr(int(at))};
    args.insert(args.end(), others.begin(), others.end());
    return f(args);
  };
  Line line(points);
  for (size_t i = 0; i < points; i++)
    line[i] = {read(2 * i), read(2 * i + 1)};
  return line;
}

/** Rows 2 p and 2 p + 1, as one line along W of which `lines`(n, p, c, side, part, ic) keeps the transform. */
inline Line line_of_rows(const SpectrumVars &s, const Halide::Func &lines, const SpectrumTile &size) {
  Line line;
  for (int k2 = 0; k2 < size.w; k2++) {
    const int side = k2 < size.w / 2 ? 0 : 1;
    const int c = side == 0 ? (k2 + size.columns() - 1) % size.columns() : size.w - 1 - k2;
    line.push_back({lines(s.n, s.p, c, side, 0, s.ic), lines(s.n, s.p, c, side, 1, s.ic)});
  }
  return line;
}

/** The transform of the two columns in one: those of both, up to TH/2. */
inline Line split_columns(const Line &both, int th) {
  Line split;
  for (int column = 0; column < 2; column++) {
    for (int k = 0; k <= th / 2; k++) {
      const Complex &z = both[size_t(k)], &mirror = both[size_t((th - k) % th)];
      if (column == 0)
        split.push_back({0.5f * (z.re + mirror.re), 0.5f * (z.im - mirror.im)});
      else
        split.push_back({0.5f * (z.im + mirror.im), 0.5f * (mirror.re - z.re)});
    }
  }
  return split;
}

/** Defines s.spectrum from `columns`(at, c, n, ic), frequency by frequency, times scale_re in the real and scale_im in
 * the imaginary part, but for the condition of s.r on (two columns, last c, frequency). */
template <class Spectrum>
void define_spectrum(Spectrum &s, const Halide::Func &columns, const SpectrumTile &size, float scale_re, float scale_im,
                     const std::function<Halide::Expr(Halide::Expr, Halide::Expr, Halide::Expr)> &condition) {
  s.spectrum(s.n, s.part, s.ic, s.f) = Halide::undef<float>();
  s.r = Halide::RDom(0, size.most_of_column(), 0, 2, 0, size.columns(), "r");
  Halide::Expr j = s.r.x, two_columns = s.r.y == 1, last = s.r.z == size.columns() - 1;
  s.r.where(condition(two_columns, last, j));
  Line one = line_of(columns, size_t(size.h), {s.r.z, s.n, s.ic});
  Line two = split_columns(one, size.h);
  one.resize(two.size(), {0.0f, 0.0f}); // beyond TH: cut off by the condition
  Halide::Expr at = 2 * j + s.part;
  Halide::Expr value = select(two_columns, mux(at, parts_of(two)), mux(at, parts_of(one)));
  if (scale_re != 1 || scale_im != 1)
    value *= select(s.part == 0, scale_re, scale_im);
  s.spectrum(s.n, s.part, s.ic, s.r.z * size.h + j) = value;
}

/** Keeps each level of a transform in a Func called `name` over the same coordinates, appended to `levels`. */
inline Hold keep_levels(const std::string &name, const Halide::Var &at, const std::vector<Halide::Var> &others,
                        std::vector<Halide::Func> &levels) {
  return [=, &levels](const Line &line) {
    Halide::Func level(name);
    define_line(level, at, others, line);
    levels.push_back(level);
    return line_of(level, line.size(), std::vector<Halide::Expr>(others.begin(), others.end()));
  };
}

} // namespace hconv
