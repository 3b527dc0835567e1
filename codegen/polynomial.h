/** polynomial: integer expressions as sums of products, for passes that take addresses apart. */
#pragma once

#include "Halide.h"
#include <map>
#include <string>
#include <vector>

namespace hconv {

/** Sum of coefficient * factor * factor .. . A factor is a variable or a subexpression that is neither sum nor product;
 * equal texts mean equal factors. Products are multiplied out, and d * m * (e / m) + d * (e % m) is d * e. Unlike
 * LinearIndex, it multiplies sums by sums. */
struct Polynomial {
  using Factors = std::map<std::string, std::pair<Halide::Expr, int>>; // by text: the factor and its power
  struct Term {
    Factors factors;
    int64_t coefficient = 0;

    bool is_constant() const { return factors.empty(); }
    bool uses(const std::string &variable) const;
    bool uses_thread() const; // any index of a thread in its block
  };
  std::map<std::string, Term> terms; // by the text of their factors; that of the constant is ""

  /** Adds scale * term; what cancels is gone. */
  void add(const Term &term, int64_t scale = 1);
  void add(const Polynomial &other, int64_t scale = 1);

  /** Nothing but a constant, or nothing at all. */
  bool is_constant() const;
  int64_t constant() const;

  bool uses(const std::string &variable) const;

  /** The same for equal polynomials, and for no others. */
  std::string text() const;

  /** The value modulo 2^32, whatever its parts are: unsigned integers wrap. */
  Halide::Expr wrapped() const;
};

/** Expects a scalar int32 expression without lets. */
Polynomial polynomial(const Halide::Expr &e);

} // namespace hconv
