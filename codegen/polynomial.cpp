#include "polynomial.h"

#include "kernel.h"
#include "linear_index.h"
#include <algorithm>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

std::string key_of(const Polynomial::Factors &factors) {
  std::string key;
  for (const auto &[text, factor] : factors)
    key += "(" + text + ")^" + std::to_string(factor.second);
  return key;
}

Polynomial constant_of(int64_t value) {
  Polynomial p;
  p.add(Polynomial::Term{{}, value});
  return p;
}

Polynomial times(const Polynomial &a, const Polynomial &b) {
  Polynomial product;
  for (const auto &x : a.terms) {
    for (const auto &y : b.terms) {
      Polynomial::Term term = x.second;
      term.coefficient *= y.second.coefficient;
      for (const auto &[text, factor] : y.second.factors) {
        auto &mine = term.factors[text];
        mine = {factor.first, mine.second + factor.second};
      }
      product.add(term);
    }
  }
  return product;
}

/** b where a factor is b / m and b differs from a by a multiple of m, so that a % m is b % m. */
Expr dividend(const Polynomial::Factors &factors, const Expr &a, int64_t m) {
  for (const auto &entry : factors) {
    const Div *div = entry.second.first.as<Div>();
    const auto divisor = div && entry.second.second == 1 ? as_const_int(div->b) : std::nullopt;
    if (!divisor || *divisor != m)
      continue;
    Polynomial apart = polynomial(div->a);
    apart.add(polynomial(a), -1);
    if (apart.is_constant() && apart.constant() % m == 0)
      return entry.second.first;
  }
  return Expr();
}

/** p without one pair c * (b / m) + d * (a % m), where c = d * m and a % m is b % m: it is d * b. False if there is
 * none. */
bool join_quotient(Polynomial &p) {
  for (const auto &[key, remainder] : p.terms) {
    for (const auto &[text, factor] : remainder.factors) {
      const Mod *mod = factor.first.as<Mod>();
      const auto m = mod && factor.second == 1 ? as_const_int(mod->b) : std::nullopt;
      if (!m || *m <= 0)
        continue;
      Polynomial::Term rest = remainder;
      rest.factors.erase(text);
      for (const auto &[other_key, quotient] : p.terms) {
        const Expr div = dividend(quotient.factors, mod->a, *m);
        if (!div.defined() || quotient.coefficient != remainder.coefficient * *m)
          continue;
        Polynomial::Factors others = quotient.factors;
        others.erase(text_of(div));
        if (key_of(others) != key_of(rest.factors))
          continue;
        Polynomial joined;
        joined.add(rest);
        joined = times(joined, polynomial(div.as<Div>()->a));
        joined.add(p);
        joined.add(remainder, -1);
        joined.add(quotient, -1);
        p = joined;
        return true;
      }
    }
  }
  return false;
}

Polynomial factor_of(const Expr &e) {
  if (const auto value = as_const_int(e))
    return constant_of(*value);
  Polynomial p;
  p.add(Polynomial::Term{{{text_of(e), {e, 1}}}, 1});
  return p;
}

Polynomial split(const Expr &e);

/** Of a subexpression that is neither sum nor product. */
Polynomial split_other(const Expr &e) {
  const Expr simple = simplify(e);
  const bool more = simple.as<Add>() || simple.as<Sub>() || simple.as<Mul>();
  return more ? split(simple) : factor_of(simple);
}

Polynomial split(const Expr &e) {
  Polynomial result;
  if (const Add *add = e.as<Add>()) {
    result = split(add->a);
    result.add(split(add->b));
  } else if (const Sub *sub = e.as<Sub>()) {
    result = split(sub->a);
    result.add(split(sub->b), -1);
  } else if (const Mul *mul = e.as<Mul>()) {
    result = times(split(mul->a), split(mul->b));
  } else if (const Call *shift = Call::as_intrinsic(e, {Call::shift_left})) {
    const Expr &count = shift->args[1];
    const auto bits = as_const_int(simplify(cast<int>(count)));
    if (!bits || *bits < 0 || *bits > 30)
      return split_other(e);
    result.add(split(shift->args[0]), int64_t(1) << *bits);
  } else {
    result = split_other(e);
  }
  return result;
}

} // namespace

bool Polynomial::Term::uses(const std::string &variable) const {
  for (const auto &factor : factors) {
    if (expr_uses_var(factor.second.first, variable))
      return true;
  }
  return false;
}

bool Polynomial::Term::uses_thread() const {
  return std::any_of(std::begin(kThreadIndex), std::end(kThreadIndex), [&](const char *index) { return uses(index); });
}

void Polynomial::add(const Term &term, int64_t scale) {
  const std::string key = key_of(term.factors);
  Term &mine = terms[key];
  mine.factors = term.factors;
  mine.coefficient += term.coefficient * scale;
  if (mine.coefficient == 0)
    terms.erase(key);
}

void Polynomial::add(const Polynomial &other, int64_t scale) {
  for (const auto &term : other.terms)
    add(term.second, scale);
}

bool Polynomial::is_constant() const {
  return terms.empty() || (terms.size() == 1 && terms.begin()->second.is_constant());
}

int64_t Polynomial::constant() const {
  const auto found = terms.find("");
  return found == terms.end() ? 0 : found->second.coefficient;
}

bool Polynomial::uses(const std::string &variable) const {
  for (const auto &term : terms) {
    if (term.second.uses(variable))
      return true;
  }
  return false;
}

std::string Polynomial::text() const {
  std::string all;
  for (const auto &[key, term] : terms)
    all += "+" + std::to_string(term.coefficient) + key;
  return all;
}

Expr Polynomial::wrapped() const {
  Expr sum;
  for (const auto &entry : terms) {
    const Term &term = entry.second;
    const int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    Expr product;
    for (const auto &factor : term.factors) {
      for (int i = 0; i < factor.second.second; i++) {
        const Expr f = cast<uint32_t>(factor.second.first);
        product = product.defined() ? product * f : f;
      }
    }
    const Expr scale = make_const(UInt(32), uint32_t(size));
    product = !product.defined() ? scale : size == 1 ? product : product * scale;
    if (term.coefficient < 0)
      sum = sum.defined() ? sum - product : make_zero(UInt(32)) - product;
    else
      sum = sum.defined() ? sum + product : product;
  }
  return sum.defined() ? sum : make_zero(UInt(32));
}

Polynomial polynomial(const Expr &e) {
  Polynomial p = split(e);
  while (join_quotient(p)) {
  }
  return p;
}

} // namespace hconv
