/** Random expressions of every type that the CUDA printer knows, in which nothing is undefined. */
#pragma once

#include "evaluate.h"
#include <random>

namespace hconv_test {

class RandomExpression {
public:
  explicit RandomExpression(unsigned seed) : random(seed) {}

  static std::vector<Halide::Type> types();

  /** Two variables of each type ("i32_0", ...), with small and extreme values. */
  std::vector<Column> columns(int rows);

  /** An expression of a type. 32- and 64-bit signed sums and products stay in range; shifts stay below the width;
   * floats are in range when they become integers. */
  Halide::Expr make(Halide::Type type, int depth) { return any(type, depth, false); }

  /** The same with only what vectors have: no integer division, no Let. */
  Halide::Expr make_for_vectors(Halide::Type type, int depth) { return any(type, depth, true); }

private:
  std::mt19937 random;

  int below(int n) { return int(random() % unsigned(n)); }
  Halide::Expr leaf(Halide::Type type);
  Halide::Expr any(Halide::Type type, int depth, bool vectors);
  Halide::Expr integer(Halide::Type type, int depth, bool vectors);
  Halide::Expr floating(Halide::Type type, int depth, bool vectors);
  Halide::Expr boolean(int depth, bool vectors);
  Halide::Expr converted(Halide::Type type, int depth, bool vectors);
};

/** A scalar expression with every variable and constant of `lanes` lanes. */
Halide::Expr widened(const Halide::Expr &e, int lanes);

} // namespace hconv_test
