/** implied_condition: proves that one condition implies another of the same shape. */
#pragma once

#include "matrix_tile.h"

namespace hconv {

/** e with lets' values, not simplified: what is the same expression in two places stays of one shape. */
Halide::Expr expanded(Halide::Expr e, const Lets &lets);

/** Appends the parts of a conjunction, without the marks of what is likely. */
void split_and(const Halide::Expr &e, std::vector<Halide::Expr> &list);

/** Proves that two expressions are equal. */
bool same(const Halide::Expr &a, const Halide::Expr &b);

/** Proves that `last` implies `e`, two comparisons of one shape, where `e` compares less or as much. */
bool implied(const Halide::Expr &e, const Halide::Expr &last);

} // namespace hconv
