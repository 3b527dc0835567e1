#include "implied_condition.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

/** Proves a >= b for two expressions of one shape. */
bool at_least(const Expr &a, const Expr &b) {
  if (equal(a, b))
    return true;
  if (const auto apart = as_const_int(simplify(a - b)))
    return *apart >= 0;
  if (const Min *x = a.as<Min>()) {
    const Min *y = b.as<Min>();
    return y && at_least(x->a, y->a) && at_least(x->b, y->b);
  }
  if (const Max *x = a.as<Max>()) {
    const Max *y = b.as<Max>();
    return y && at_least(x->a, y->a) && at_least(x->b, y->b);
  }
  if (const Add *x = a.as<Add>()) {
    const Add *y = b.as<Add>();
    return y && at_least(x->a, y->a) && at_least(x->b, y->b);
  }
  if (const Sub *x = a.as<Sub>()) {
    const Sub *y = b.as<Sub>();
    return y && at_least(x->a, y->a) && at_least(y->b, x->b);
  }
  if (const Div *x = a.as<Div>()) {
    const Div *y = b.as<Div>();
    return y && equal(x->b, y->b) && is_positive_const(x->b) && at_least(x->a, y->a);
  }
  return false;
}

} // namespace

Expr expanded(Expr e, const Lets &lets) {
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    e = substitute(let->first, let->second, e);
  return substitute_in_all_lets(e);
}

void split_and(const Expr &e, std::vector<Expr> &list) {
  if (const And *both = e.as<And>()) {
    split_and(both->a, list);
    split_and(both->b, list);
  } else if (const Call *call = e.as<Call>();
             call && (call->is_intrinsic(Call::likely) || call->is_intrinsic(Call::likely_if_innermost))) {
    split_and(call->args[0], list);
  } else {
    list.push_back(e);
  }
}

bool same(const Expr &a, const Expr &b) {
  return equal(simplify(a), simplify(b));
}

bool implied(const Expr &e, const Expr &last) {
  if (same(e, last))
    return true;
  if (const LT *x = e.as<LT>()) {
    const LT *y = last.as<LT>();
    return y && at_least(y->a, x->a) && at_least(x->b, y->b);
  }
  if (const LE *x = e.as<LE>()) {
    const LE *y = last.as<LE>();
    return y && at_least(y->a, x->a) && at_least(x->b, y->b);
  }
  return false;
}

} // namespace hconv
