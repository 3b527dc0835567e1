#include "linear_index.h"

#include <sstream>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

void LinearIndex::add(const LinearIndex &other, int64_t scale) {
  constant += other.constant * scale;
  for (const auto &[key, term] : other.terms) {
    Term &mine = terms[key];
    mine.factor = term.factor;
    mine.coefficient += term.coefficient * scale;
    if (mine.coefficient == 0)
      terms.erase(key);
  }
}

Expr LinearIndex::sum() const {
  Expr all = int(constant);
  for (const auto &[key, term] : terms)
    all += term.factor * int(term.coefficient);
  return simplify(all);
}

namespace {

/** Replaces variables by their lets' values inside a factor, so that equal factors have equal texts. */
class Expand : public IRMutator {
public:
  explicit Expand(const Scope<Expr> &lets) : lets(lets) {}

private:
  const Scope<Expr> &lets;

  using IRMutator::visit;

  Expr visit(const Variable *op) override { return lets.contains(op->name) ? mutate(lets.get(op->name)) : Expr(op); }
};

LinearIndex opaque(const Expr &e, const Scope<Expr> &lets) {
  const Expr factor = simplify(substitute_in_all_lets(Expand(lets).mutate(e)));
  LinearIndex result;
  if (const auto constant = as_const_int(factor)) {
    result.constant = *constant;
    return result;
  }
  result.terms[text_of(factor)] = {factor, 1};
  return result;
}

} // namespace

std::string text_of(const Expr &e) {
  std::ostringstream text;
  text << e;
  return text.str();
}

LinearIndex linear_index(const Expr &e, const Scope<Expr> &lets) {
  LinearIndex result;
  if (const auto constant = as_const_int(e)) {
    result.constant = *constant;
  } else if (const Variable *v = e.as<Variable>()) {
    return lets.contains(v->name) ? linear_index(lets.get(v->name), lets) : opaque(e, lets);
  } else if (const Add *add = e.as<Add>()) {
    result = linear_index(add->a, lets);
    result.add(linear_index(add->b, lets), 1);
  } else if (const Sub *sub = e.as<Sub>()) {
    result = linear_index(sub->a, lets);
    result.add(linear_index(sub->b, lets), -1);
  } else if (const Mul *mul = e.as<Mul>()) {
    const LinearIndex a = linear_index(mul->a, lets), b = linear_index(mul->b, lets);
    if (a.terms.empty()) {
      result.add(b, a.constant);
    } else if (b.terms.empty()) {
      result.add(a, b.constant);
    } else {
      return opaque(e, lets);
    }
  } else if (const Call *shift = Call::as_intrinsic(e, {Call::shift_left})) {
    const Expr &count = shift->args[1];
    const auto bits = count.type().is_uint() ? as_const_int(simplify(cast<int>(count))) : as_const_int(count);
    if (!bits || *bits < 0 || *bits > 30)
      return opaque(e, lets);
    result.add(linear_index(shift->args[0], lets), int64_t(1) << *bits);
  } else {
    return opaque(e, lets);
  }
  return result;
}

} // namespace hconv
