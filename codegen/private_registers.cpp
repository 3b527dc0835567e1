#include "private_registers.h"

#include "linear_index.h"
#include <algorithm>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

bool is_register(const Allocate *op) {
  return op->memory_type != MemoryType::GPUShared;
}

/** Walks a body and keeps the lets in scope. */
template <typename Base> class WithLets : public Base {
protected:
  Scope<Expr> lets;
  using Base::visit;
};

class FindRegisterLoops : public WithLets<IRVisitor> {
public:
  std::set<std::string> loops;

private:
  std::set<std::string> arrays;
  using WithLets<IRVisitor>::visit;

  void visit(const Allocate *op) override {
    if (is_register(op))
      arrays.insert(op->name);
    IRVisitor::visit(op);
  }

  void visit(const LetStmt *op) override {
    op->value.accept(this);
    ScopedBinding<Expr> bind(lets, op->name, op->value);
    op->body.accept(this);
  }

  void note(const std::string &array, const Expr &index) {
    if (!arrays.count(array))
      return;
    const Ramp *ramp = index.as<Ramp>();
    for (const auto &[key, term] : linear_index(ramp ? ramp->base : index, lets).terms)
      loops.insert(key);
  }

  void visit(const Load *op) override {
    note(op->name, op->index);
    IRVisitor::visit(op);
  }

  void visit(const Store *op) override {
    note(op->name, op->index);
    IRVisitor::visit(op);
  }
};

/** Loops of a bounded extent around a register array get that bound as their extent. */
class ConstantLoops : public IRMutator {
public:
  explicit ConstantLoops(const std::set<std::string> &loops) : loops(loops) {}

private:
  const std::set<std::string> &loops;
  std::vector<std::pair<std::string, Expr>> lets;

  using IRMutator::visit;

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  Stmt visit(const For *op) override {
    Stmt body = mutate(op->body);
    Expr extent = simplify(op->extent);
    if (!loops.count(op->name) || is_const(extent))
      return For::make(op->name, op->min, extent, op->for_type, op->partition_policy, op->device_api, body);
    Expr full = extent;
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      full = substitute(let->first, let->second, full);
    const Expr bound = find_constant_bound(simplify(full), Direction::Upper);
    _halide_user_assert(bound.defined() && is_const(bound))
        << "Loop " << op->name << " indexes a register array and has the extent " << full
        << ", expected one with a constant bound";
    _halide_user_assert(is_const_zero(op->min)) << "Loop " << op->name << " starts at " << op->min << ", expected 0";
    Expr index = Variable::make(Int(32), op->name);
    return For::make(op->name, 0, bound, op->for_type, op->partition_policy, op->device_api,
                     IfThenElse::make(index < extent, body));
  }
};

/** One access of an array: what all accesses share, and what varies inside the thread. */
struct Access {
  LinearIndex fixed, varying;
};

/** A digit of the dense numbering: elements `stride` apart in the old numbering, `radix` apart in the new one. */
struct Digit {
  int64_t stride, extent, radix;
};

/** The numbering of one array's elements in a thread. */
struct ArrayLayout {
  LinearIndex fixed;                                                 // the owner's part of every index
  std::vector<std::pair<int64_t, std::map<int64_t, int64_t>>> spans; // of each access: constant, extents by stride
  int64_t first = 0;                                                 // smallest constant of all accesses
  std::vector<Digit> digits;                                         // by stride
  int64_t size = 1;

  Digit &digit(int64_t stride) {
    auto at =
        std::lower_bound(digits.begin(), digits.end(), stride, [](const Digit &d, int64_t s) { return d.stride < s; });
    if (at == digits.end() || at->stride != stride)
      at = digits.insert(at, {stride, 1, 0});
    return *at;
  }

  /** An offset from `first` as (stride, value) pairs, largest stride first; a rest counts in units of stride 1. */
  std::vector<std::pair<int64_t, int64_t>> digits_of(int64_t offset) const {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (auto d = digits.rbegin(); d != digits.rend(); ++d) {
      if (offset >= d->stride) {
        result.emplace_back(d->stride, offset / d->stride);
        offset %= d->stride;
      }
    }
    if (offset > 0)
      result.emplace_back(1, offset);
    return result;
  }

  /** Fixes the digits from the spans. Returns the stride that overlaps a smaller one, or 0. */
  int64_t number() {
    for (const auto &span : spans) {
      first = std::min(first, span.first);
      for (const auto &[stride, extent] : span.second)
        digit(stride).extent = std::max(digit(stride).extent, extent);
    }
    for (const auto &[constant, extents] : spans) {
      for (const auto &[stride, value] : digits_of(constant - first)) {
        const auto loop = extents.find(stride);
        const int64_t reach = value + (loop == extents.end() ? 1 : loop->second);
        digit(stride).extent = std::max(digit(stride).extent, reach);
      }
    }
    int64_t reach = 0; // largest offset that smaller strides give in the old numbering
    for (Digit &d : digits) {
      if (d.stride <= reach)
        return d.stride;
      reach += d.stride * (d.extent - 1);
      d.radix = size;
      size *= d.extent;
    }
    return 0;
  }
};

bool same_terms(const LinearIndex &a, const LinearIndex &b) {
  auto equal = [](const auto &x, const auto &y) {
    return x.first == y.first && x.second.coefficient == y.second.coefficient;
  };
  return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(), equal);
}

/** Visits every access of one array inside its allocation. */
class Accesses : public IRMutator {
public:
  Accesses(const Allocate *array, ArrayLayout *layout) : array(array->name), layout(layout) {}

  bool rewriting = false;

private:
  std::string array;
  ArrayLayout *layout;
  Scope<Expr> lets;
  std::map<std::string, int64_t> extents; // constant loops inside the allocation
  std::set<std::string> bound;            // everything else that is bound inside

  using IRMutator::visit;

  Access split(const Expr &index) {
    Access access;
    for (const auto &[key, term] : linear_index(index, lets).terms) {
      const Variable *v = term.factor.as<Variable>();
      if (v && extents.count(v->name)) {
        access.varying.terms[key] = term;
        continue;
      }
      for (const auto &inner : extents)
        check(!expr_uses_var(term.factor, inner.first), "is not linear in loop " + inner.first, index);
      for (const auto &inner : bound)
        check(!expr_uses_var(term.factor, inner), "depends on " + inner, index);
      access.fixed.terms[key] = term;
    }
    access.varying.constant = linear_index(index, lets).constant;
    return access;
  }

  void check(bool ok, const std::string &what, const Expr &index) {
    _halide_user_assert(ok) << "Register array " << array << " would fall into local memory: index " << index << " "
                            << what;
  }

  /** First walk: what the array's accesses span. */
  void record(const Expr &index, int64_t lane_stride, int lanes) {
    const Access access = split(index);
    if (layout->spans.empty()) {
      layout->fixed = access.fixed;
      layout->first = access.varying.constant;
    }
    check(same_terms(access.fixed, layout->fixed), "belongs to another thread than the accesses before it", index);
    std::map<int64_t, int64_t> spans;
    for (const auto &[key, term] : access.varying.terms) {
      check(term.coefficient > 0, "runs backwards in loop " + key, index);
      check(!spans.count(term.coefficient), "moves equally in two loops", index);
      spans[term.coefficient] = extents[term.factor.as<Variable>()->name];
    }
    if (lanes > 1) {
      check(!spans.count(lane_stride), "moves equally in a loop and in a vector", index);
      spans[lane_stride] = lanes;
    }
    layout->spans.emplace_back(access.varying.constant, spans);
  }

  /** Second walk. */
  Expr renumber(const Expr &index) {
    const Access access = split(index);
    Expr result = 0;
    for (const auto &[stride, value] : layout->digits_of(access.varying.constant - layout->first))
      result += int(value * layout->digit(stride).radix);
    for (const auto &[key, term] : access.varying.terms)
      result += term.factor * int(layout->digit(term.coefficient).radix);
    return simplify(result);
  }

  Expr access(const Expr &index) {
    const Ramp *ramp = index.as<Ramp>();
    const auto stride = ramp ? as_const_int(ramp->stride) : std::nullopt;
    check(index.type().is_scalar() || (ramp && stride && *stride > 0), "is neither a scalar nor a ramp", index);
    if (!rewriting) {
      record(ramp ? ramp->base : index, stride.value_or(0), index.type().lanes());
      return index;
    }
    Expr base = renumber(ramp ? ramp->base : index);
    return ramp ? Ramp::make(base, int(layout->digit(*stride).radix), ramp->lanes) : base;
  }

  Expr visit(const Load *op) override {
    if (op->name != array)
      return IRMutator::visit(op);
    return Load::make(op->type, op->name, access(op->index), op->image, op->param, op->predicate, ModulusRemainder());
  }

  Stmt visit(const Store *op) override {
    Expr value = mutate(op->value);
    if (op->name != array)
      return Store::make(op->name, value, mutate(op->index), op->param, mutate(op->predicate), op->alignment);
    return Store::make(op->name, value, access(op->index), op->param, op->predicate, ModulusRemainder());
  }

  Stmt visit(const LetStmt *op) override {
    Expr value = mutate(op->value);
    ScopedBinding<Expr> bind(lets, op->name, op->value);
    return LetStmt::make(op->name, value, mutate(op->body));
  }

  Stmt visit(const For *op) override {
    const auto extent = as_const_int(op->extent);
    if (extent)
      extents[op->name] = *extent;
    else
      bound.insert(op->name);
    Stmt body = mutate(op->body);
    extents.erase(op->name);
    bound.erase(op->name);
    return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
  }
};

class PrivateRegisters : public IRMutator {
  using IRMutator::visit;

  Stmt visit(const Allocate *op) override {
    Stmt body = mutate(op->body);
    if (!is_register(op))
      return Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body, op->new_expr);
    ArrayLayout layout;
    Accesses accesses(op, &layout);
    accesses.mutate(body);
    const int64_t overlap = layout.number();
    _halide_user_assert(overlap == 0) << "Register array " << op->name << " would fall into local memory: elements "
                                      << overlap << " apart overlap with its smaller strides";
    accesses.rewriting = true;
    body = accesses.mutate(body);
    return Allocate::make(op->name, op->type, op->memory_type, {Expr(int(layout.size))}, op->condition, body);
  }
};

} // namespace

std::set<std::string> register_loops(const Stmt &body) {
  FindRegisterLoops find;
  body.accept(&find);
  return find.loops;
}

Stmt private_registers(const Stmt &body) {
  return simplify(PrivateRegisters().mutate(ConstantLoops(register_loops(body)).mutate(body)));
}

} // namespace hconv
