#include "private_registers.h"

#include "linear_index.h"
#include <algorithm>
#include <set>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

bool is_register(const Allocate *op) {
  return op->memory_type != MemoryType::GPUShared;
}

/** A loop inside the thread, in an index: it counts from 0, wherever the loop starts. */
struct Count {
  Expr value; // loop variable - loop's start
  int64_t stride = 0, extent = 0;
};

/** One access of an array: what all accesses share, and what varies inside the thread. */
struct Access {
  LinearIndex fixed;
  std::map<std::string, Count> counts; // by the loop's name
  int64_t constant = 0;
};

bool has_load(const Expr &e) {
  class Find : public IRVisitor {
    using IRVisitor::visit;
    void visit(const Load *) override { found = true; }

  public:
    bool found = false;
  } find;
  e.accept(&find);
  return find.found;
}

/** A digit of the dense numbering: `extent` elements `stride` apart in the old numbering, `radix` apart in the new one.
 */
struct Digit {
  int64_t stride, extent, radix;
};

/** What one access can reach: a constant, and extents by stride. Loops of one stride add up, as ow + kw does in a
 * sliding window. */
struct Span {
  int64_t constant;
  std::map<int64_t, int64_t> extents;
};

/** The numbering of one array's elements in a thread. */
struct ArrayLayout {
  LinearIndex fixed; // the owner's part of every index
  std::vector<Span> spans;
  int64_t first = 0;         // smallest constant of all accesses
  std::vector<Digit> digits; // by stride
  int64_t size = 1;

  /** The digit that a stride counts in: the largest one not above it. */
  size_t digit_of(int64_t stride) const {
    size_t i = digits.size() - 1;
    while (i > 0 && digits[i].stride > stride)
      i--;
    return i;
  }

  /** New distance of elements that were `stride` apart. */
  int64_t radix_of(int64_t stride) const {
    const Digit &d = digits[digit_of(stride)];
    return stride / d.stride * d.radix;
  }

  /** New place of a constant. */
  int64_t place_of(int64_t constant) const {
    int64_t offset = constant - first, place = 0;
    for (auto d = digits.rbegin(); d != digits.rend(); ++d) {
      place += offset / d->stride * d->radix;
      offset %= d->stride;
    }
    return place;
  }

  /** Fixes the digits from the spans: one a stride, where smaller ones do not reach it; else they count together.
   * Returns the stride for which that is impossible, or 0. */
  int64_t number() {
    std::set<int64_t> strides = {1};
    for (const Span &span : spans) {
      first = std::min(first, span.constant);
      for (const auto &[stride, extent] : span.extents)
        strides.insert(stride);
    }
    for (const int64_t stride : strides)
      digits.push_back({stride, 1, 0});
    for (;;) {
      measure();
      int64_t reach = 0; // largest offset that smaller digits give in the old numbering
      size_t i = 0;
      for (; i < digits.size() && (i == 0 || digits[i].stride > reach); i++)
        reach += digits[i].stride * (digits[i].extent - 1);
      if (i == digits.size())
        break;
      if (digits[i].stride % digits[i - 1].stride != 0)
        return digits[i].stride;
      digits.erase(digits.begin() + int64_t(i));
    }
    for (Digit &d : digits) {
      d.radix = size;
      size *= d.extent;
    }
    return 0;
  }

private:
  void measure() {
    for (Digit &d : digits)
      d.extent = 1;
    for (const Span &span : spans) {
      std::vector<int64_t> last(digits.size(), 0);
      int64_t offset = span.constant - first;
      for (size_t i = digits.size(); i-- > 0;) {
        last[i] = offset / digits[i].stride;
        offset %= digits[i].stride;
      }
      for (const auto &[stride, extent] : span.extents) {
        const size_t i = digit_of(stride);
        last[i] += stride / digits[i].stride * (extent - 1);
      }
      for (size_t i = 0; i < digits.size(); i++)
        digits[i].extent = std::max(digits[i].extent, last[i] + 1);
    }
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
  struct Loop {
    Expr min;
    int64_t extent;
  };
  std::map<std::string, Loop> loops; // of constant extent, inside the allocation
  std::set<std::string> bound;       // everything else that is bound inside

  using IRMutator::visit;

  Access split(const Expr &index) {
    Access access;
    add(access, linear_index(index, lets), 1, index);
    return access;
  }

  void add(Access &access, const LinearIndex &part, int64_t scale, const Expr &index) {
    access.constant += part.constant * scale;
    for (const auto &[key, term] : part.terms) {
      const Variable *v = term.factor.as<Variable>();
      const auto loop = v ? loops.find(v->name) : loops.end();
      if (loop != loops.end()) {
        Count &count = access.counts[v->name];
        count.value = term.factor - loop->second.min;
        count.stride += term.coefficient * scale;
        count.extent = loop->second.extent;
        add(access, linear_index(loop->second.min, lets), term.coefficient * scale, index);
        continue;
      }
      for (const auto &inner : loops)
        check(!expr_uses_var(term.factor, inner.first), "is not linear in loop " + inner.first, index);
      for (const auto &inner : bound)
        check(!expr_uses_var(term.factor, inner), "depends on " + inner, index);
      check(!has_load(term.factor), "depends on a loaded value", index);
      LinearIndex single;
      single.terms[key] = term;
      access.fixed.add(single, scale);
    }
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
      layout->first = access.constant;
    }
    check(same_terms(access.fixed, layout->fixed), "belongs to another thread than the accesses before it", index);
    Span span{access.constant, {}};
    auto widen = [&](int64_t stride, int64_t extent) { span.extents.emplace(stride, 1).first->second += extent - 1; };
    for (const auto &[loop, count] : access.counts) {
      check(count.stride >= 0, "runs backwards in loop " + loop, index);
      if (count.stride > 0)
        widen(count.stride, count.extent);
    }
    if (lanes > 1)
      widen(lane_stride, lanes);
    layout->spans.push_back(span);
  }

  /** Second walk. */
  Expr renumber(const Expr &index) {
    const Access access = split(index);
    Expr result = int(layout->place_of(access.constant));
    for (const auto &[loop, count] : access.counts) {
      if (count.stride > 0)
        result += count.value * int(layout->radix_of(count.stride));
    }
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
    return ramp ? Ramp::make(base, int(layout->radix_of(*stride)), ramp->lanes) : base;
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

  Expr visit(const Let *op) override {
    Expr value = mutate(op->value);
    ScopedBinding<Expr> bind(lets, op->name, op->value);
    return Let::make(op->name, value, mutate(op->body));
  }

  Stmt visit(const LetStmt *op) override {
    Expr value = mutate(op->value);
    ScopedBinding<Expr> bind(lets, op->name, op->value);
    return LetStmt::make(op->name, value, mutate(op->body));
  }

  Stmt visit(const For *op) override {
    const auto extent = as_const_int(op->extent);
    if (extent)
      loops[op->name] = {op->min, *extent};
    else
      bound.insert(op->name);
    Stmt body = mutate(op->body);
    loops.erase(op->name);
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

Stmt private_registers(const Stmt &body) {
  return simplify(PrivateRegisters().mutate(body));
}

} // namespace hconv
