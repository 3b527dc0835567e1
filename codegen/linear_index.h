/** Index expressions as sums of terms, for passes that prove things about addresses. */
#pragma once

#include "Halide.h"
#include <map>
#include <string>

namespace hconv {

/** As Halide prints it; equal texts of index expressions mean equal values. */
std::string text_of(const Halide::Expr &e);

/** constant + sum of coefficient * factor. A factor is a variable or a subexpression that is not linear; terms are
 * keyed on the factor's text, so equal keys mean equal factors. */
struct LinearIndex {
  struct Term {
    Halide::Expr factor;
    int64_t coefficient = 0;
  };
  std::map<std::string, Term> terms;
  int64_t constant = 0;

  /** Adds scale * other. */
  void add(const LinearIndex &other, int64_t scale);

  /** The sum, simplified; terms that cancel are gone. */
  Halide::Expr sum() const;
};

/** Splits a scalar integer expression. Variables that `lets` holds are replaced by their values first. */
LinearIndex linear_index(const Halide::Expr &index, const Halide::Internal::Scope<Halide::Expr> &lets);

} // namespace hconv
