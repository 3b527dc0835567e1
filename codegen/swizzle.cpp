#include "swizzle.h"

#include "linear_index.h"
#include "matrix_tile.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kPiece = 8, kBanks = 64; // 16-bit elements of 16 and of 128 bytes

class Swizzle : public IRMutator {
public:
  Swizzle(const CudaKernel &kernel, const SwizzledRows &rows, bool fence) : rows(rows), fence(fence) {
    for (int axis = 0; axis < 3; axis++)
      ranges.push(kThreadIndex[axis], Interval(0, kernel.block[axis] - 1));
  }

private:
  const SwizzledRows &rows;
  const bool fence;
  Lets lets;
  Scope<Interval> ranges;
  bool one_piece = false, stored = false;

  using IRMutator::visit;

  Stmt visit(const LetStmt *op) override {
    const Expr value = mutate(op->value);
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, value, body);
  }

  Stmt visit(const For *op) override {
    const auto extent = as_const_int(op->extent), min = as_const_int(op->min);
    if (!extent || !min)
      return IRMutator::visit(op);
    ScopedBinding<Interval> bind(ranges, op->name, Interval(int(*min), int(*min + *extent) - 1));
    return IRMutator::visit(op);
  }

  Stmt visit(const Allocate *op) override {
    if (op->name != rows.array)
      return IRMutator::visit(op);
    const int period = rows.period(), size = op->constant_allocation_size();
    return Allocate::make(op->name, op->type, op->memory_type, {(size + period - 1) / period * period}, op->condition,
                          mutate(op->body), op->new_expr);
  }

  Stmt visit(const ProducerConsumer *op) override {
    ScopedValue<bool> outside(stored, false);
    Stmt body = mutate(op->body);
    if (fence && op->is_producer && stored)
      body = Block::make(body, call_statement("hconv::fence_proxy_async", {}));
    return ProducerConsumer::make(op->name, op->is_producer, body);
  }

  /** Where element `index` of the array lies; itself outside of the rows. */
  Expr place(const Expr &index) {
    // As a sum of terms, in which what cancels is gone.
    const LinearIndex terms = linear_index(with_lets(index, lets), Scope<Expr>());
    const int period = rows.period();
    Expr whole = int(terms.constant / period * period), rest = int(terms.constant % period);
    for (const auto &[key, term] : terms.terms) {
      // What moves by whole periods stays outside, so that it is not in the way of constant offsets.
      Expr &sum = term.coefficient % period == 0 ? whole : rest;
      sum += term.factor * int(term.coefficient);
    }
    whole = simplify(whole);
    rest = simplify(rest);
    const Expr full = simplify(whole + rest);
    const auto low = bound(full, Direction::Lower), high = bound(full, Direction::Upper);
    if ((high && *high < rows.begin) || (low && *low >= rows.end))
      return mutate(index);
    _halide_user_assert(low && high && *low >= rows.begin && *high < rows.end)
        << "Access " << full << " of " << rows.array << " may lie in its swizzled rows, elements " << rows.begin
        << " to " << rows.end - 1 << ", or outside of them";
    _halide_user_assert(one_piece) << "Access " << full << " of the swizzled rows of " << rows.array
                                   << " is none of 16 aligned bytes or less";
    stored = true;
    const Expr row = rest / kBanks % (rows.elements / kPiece) * kPiece;
    return whole + Call::make(Int(32), Call::bitwise_xor, {rest, simplify(row)}, Call::PureIntrinsic);
  }

  std::optional<int64_t> bound(const Expr &e, Direction direction) const {
    const Expr b = find_constant_bound(e, direction, ranges);
    return b.defined() ? as_const_int(b) : std::nullopt;
  }

  Expr visit(const Load *op) override {
    if (op->name != rows.array)
      return IRMutator::visit(op);
    return Load::make(op->type, op->name, place(op->index), op->image, op->param, op->predicate, ModulusRemainder());
  }

  Stmt visit(const Store *op) override {
    if (op->name != rows.array)
      return IRMutator::visit(op);
    const Expr value = mutate(op->value);
    ScopedValue<bool> scalar(one_piece, true);
    return Store::make(op->name, value, place(op->index), op->param, op->predicate, ModulusRemainder());
  }

  Expr visit(const Call *op) override {
    if (starts_with(op->name, "hconv::matrix_descriptor"))
      return op;
    if (op->name == kAddressOf)
      return IRMutator::visit(op);
    int bytes = 1 << 20;
    if (op->name == "hconv::store_aligned")
      bytes = op->args[1].type().bytes() * op->args[1].type().lanes();
    else if (op->name == "hconv::load_aligned")
      bytes = op->type.bytes() * op->type.lanes();
    ScopedValue<bool> narrow(one_piece, bytes <= 16);
    return IRMutator::visit(op);
  }
};

} // namespace

Stmt swizzle_rows(CudaKernel &kernel, const Stmt &body, const SwizzledRows &rows, bool fence) {
  kernel.shared_alignment[rows.array] = 2 * rows.period();
  return Swizzle(kernel, rows, fence).mutate(body);
}

} // namespace hconv
