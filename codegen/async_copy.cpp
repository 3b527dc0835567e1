#include "async_copy.h"

#include "implied_condition.h"
#include "polynomial.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

/** Drops min and max where conditions say which of both it is. */
class DropClamps : public IRMutator {
public:
  explicit DropClamps(const std::vector<Expr> &conditions) {
    for (const Expr &condition : conditions) {
      if (const LT *less = condition.as<LT>())
        know(less->b, less->a, -1);
      else if (const LE *less = condition.as<LE>())
        know(less->b, less->a, 0);
    }
  }

private:
  std::vector<Polynomial> known; // none of these is negative

  void know(const Expr &large, const Expr &small, int64_t more) {
    if (large.type() != Int(32))
      return;
    Polynomial apart = polynomial(large);
    apart.add(polynomial(small), -1);
    apart.add(Polynomial::Term{{}, more});
    known.push_back(apart);
  }

  bool at_least(const Expr &large, const Expr &small) const {
    Polynomial apart = polynomial(large);
    apart.add(polynomial(small), -1);
    for (const Polynomial &condition : known) {
      Polynomial more = apart;
      more.add(condition, -1);
      if (more.is_constant() && more.constant() >= 0)
        return true;
    }
    return false;
  }

  using IRMutator::visit;
  Expr visit(const Min *op) override {
    Expr a = mutate(op->a), b = mutate(op->b);
    if (op->type == Int(32) && at_least(b, a))
      return a;
    return op->type == Int(32) && at_least(a, b) ? b : Min::make(a, b);
  }
  Expr visit(const Max *op) override {
    Expr a = mutate(op->a), b = mutate(op->b);
    if (op->type == Int(32) && at_least(a, b))
      return a;
    return op->type == Int(32) && at_least(b, a) ? b : Max::make(a, b);
  }
};

class Collect {
public:
  Collect(const Lets &outer, const Scope<Interval> &ranges, size_t limit) : lets(outer), ranges(ranges), limit(limit) {}

  std::vector<AsyncCopy> copies;

  bool take(const Stmt &s) {
    if (const Block *block = s.as<Block>())
      return take(block->first) && take(block->rest);
    if (const ProducerConsumer *producer = s.as<ProducerConsumer>())
      return take(producer->body);
    if (const LetStmt *let = s.as<LetStmt>())
      return take_with(let->name, let->value, let->body);
    if (const For *loop = s.as<For>())
      return take_loop(loop);
    if (const IfThenElse *branch = s.as<IfThenElse>())
      return take_branch(branch);
    const Evaluate *call = s.as<Evaluate>();
    return call && (is_const(call->value) || take_copy(call->value.as<Call>()));
  }

private:
  Lets lets;
  const Scope<Interval> &ranges;
  const size_t limit;
  std::vector<Expr> guards;

  Expr value(const Expr &e) const { return simplify(expanded(e, lets), true, ranges); }

  bool take_with(const std::string &name, const Expr &value, const Stmt &body) {
    lets.emplace_back(name, value);
    const bool ok = take(body);
    lets.pop_back();
    return ok;
  }

  bool take_loop(const For *loop) {
    const auto first = as_const_int(value(loop->min)), extent = as_const_int(value(loop->extent));
    if (!first || !extent || *extent > int64_t(limit) ||
        (loop->for_type != ForType::Serial && loop->for_type != ForType::Unrolled))
      return false;
    for (int64_t i = 0; i < *extent; i++) {
      if (!take_with(loop->name, make_const(Int(32), *first + i), loop->body))
        return false;
    }
    return true;
  }

  bool take_branch(const IfThenElse *branch) {
    if (branch->else_case.defined())
      return false;
    const Expr condition = value(branch->condition);
    if (is_const_zero(condition))
      return true;
    const size_t outside = guards.size();
    if (!is_const_one(condition))
      split_and(condition, guards);
    const bool ok = take(branch->then_case);
    guards.resize(outside);
    return ok;
  }

  bool take_copy(const Call *call) {
    if (!call || (call->name != "hconv::cp_async4" && call->name != "hconv::cp_async16") || copies.size() >= limit)
      return false;
    AsyncCopy copy;
    copy.call = call->name;
    copy.to = call->args[0].as<Call>()->args[0].as<Load>();
    copy.from = call->args[1].as<Call>()->args[0].as<Load>();
    copy.bytes = call->name == "hconv::cp_async4" ? 4 : 16;
    copy.guards = guards;
    if (!is_const(call->args[2])) {
      const Select *bytes = call->args[2].as<Select>();
      if (!bytes || !is_const(bytes->true_value) || !is_const(bytes->false_value))
        return false;
      const Expr condition = value(is_const_zero(bytes->false_value) ? bytes->condition : !bytes->condition);
      if (!is_const_one(condition))
        split_and(condition, copy.fills);
    }
    std::vector<Expr> conditions = copy.guards;
    conditions.insert(conditions.end(), copy.fills.begin(), copy.fills.end());
    copy.place = value(copy.to->index);
    copy.index = DropClamps(conditions).mutate(value(copy.from->index));
    for (const Expr &condition : conditions) {
      if (!reads_nothing(condition))
        return false;
    }
    copies.push_back(copy);
    return reads_nothing(copy.place) && reads_nothing(copy.index);
  }
};

} // namespace

std::optional<std::vector<AsyncCopy>> async_copies_of(const Stmt &producer, const Lets &outer,
                                                      const Scope<Interval> &ranges, size_t limit) {
  Collect collect(outer, ranges, limit);
  return collect.take(producer) && !collect.copies.empty() ? std::make_optional(collect.copies) : std::nullopt;
}

} // namespace hconv
