/** Complex lines kept in Funcs, for the spectrum algorithms. */
#pragma once

#include "fourier.h"

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
