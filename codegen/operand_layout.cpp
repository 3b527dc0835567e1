#include "operand_layout.h"

#include "linear_index.h"
#include "matrix_tile.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kPiece = 8, kBanks = 64; // 16-bit elements of 16 and of 128 bytes

class LayOut : public IRMutator {
public:
  LayOut(const CudaKernel &kernel, const DescribedRows &rows, bool fence) : rows(rows), fence(fence) {
    for (int axis = 0; axis < 3; axis++)
      ranges.push(kThreadIndex[axis], Interval(0, kernel.block[axis] - 1));
  }

private:
  const DescribedRows &rows;
  const bool fence;
  Lets lets;
  Scope<Interval> ranges;
  int64_t array_size = 0;
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
    array_size = op->constant_allocation_size();
    const int64_t grown = array_size + rows.size() - (rows.end - rows.begin);
    _halide_user_assert(grown == array_size || rows.end == array_size)
        << "The rows of " << rows.array << " that wgmma reads, elements " << rows.begin << " to " << rows.end - 1
        << ", are not the last of its " << array_size;
    const int whole = rows.swizzled ? rows.period() : kPiece;
    return Allocate::make(op->name, op->type, op->memory_type, {Expr(int((grown + whole - 1) / whole * whole))},
                          op->condition, mutate(op->body), op->new_expr);
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
    LinearIndex terms = linear_index(with_lets(index, lets), Scope<Expr>());
    terms.constant -= rows.begin;
    // What moves by whole units keeps its distances, so that it is not in the way of constant offsets.
    const int unit = rows.swizzled ? rows.period() : rows.elements;
    const int64_t constant_rest = (terms.constant % unit + unit) % unit;
    Expr whole = int((terms.constant - constant_rest) / unit), rest = int(constant_rest);
    for (const auto &[key, term] : terms.terms) {
      if (term.coefficient % unit == 0)
        whole += term.factor * int(term.coefficient / unit);
      else
        rest += term.factor * int(term.coefficient);
    }
    whole = simplify(whole);
    rest = simplify(rest);
    if (!falls_into_rows(simplify(whole * unit + rest), index))
      return mutate(index);
    stored = true;
    if (rows.swizzled) {
      const Expr row = rest / kBanks % (rows.elements / kPiece) * kPiece;
      return simplify(whole * unit + int(rows.begin)) +
             Call::make(Int(32), Call::bitwise_xor, {rest, simplify(row)}, Call::PureIntrinsic);
    }
    const auto low = bound(rest, Direction::Lower), high = bound(rest, Direction::Upper);
    _halide_user_assert(low && high && *low >= 0 && *high < unit)
        << "Access " << index << " of the rows of " << rows.array << " is not proved to stay in one row";
    return simplify(whole * kPiece + rest / kPiece * int(rows.plane()) + rest % kPiece + int(rows.begin));
  }

  /** Whether an access, counted from the first row, is one of the rows. Beyond the array's end it never happens. */
  bool falls_into_rows(const Expr &full, const Expr &index) const {
    const auto low = bound(full, Direction::Lower), high = bound(full, Direction::Upper);
    const int64_t count = rows.end - rows.begin;
    if ((high && *high < 0) || (low && *low >= count))
      return false;
    _halide_user_assert(low && *low >= 0 && (rows.end == array_size || (high && *high < count)))
        << "Access " << index << " of " << rows.array << " may lie in the rows that wgmma reads, elements "
        << rows.begin << " to " << rows.end - 1 << ", or outside of them";
    _halide_user_assert(one_piece) << "Access " << index << " of the rows of " << rows.array
                                   << " that wgmma reads is none of 16 aligned bytes or less";
    return true;
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
    if (op->name == kAddressOf)
      return IRMutator::visit(op);
    int bytes = 1 << 20;
    if (op->name == "hconv::store_aligned")
      bytes = op->args[1].type().bytes() * op->args[1].type().lanes();
    else if (op->name == "hconv::load_aligned")
      bytes = op->type.bytes() * op->type.lanes();
    else if (op->name == rows.descriptor())
      bytes = 16;
    // A group that starts the swizzle's pattern has its first piece in place.
    if (bytes == 16 && rows.swizzled && op->name == rows.descriptor())
      return op;
    ScopedValue<bool> narrow(one_piece, bytes <= 16);
    return IRMutator::visit(op);
  }
};

} // namespace

std::string DescribedRows::descriptor() const {
  if (swizzled)
    return "hconv::matrix_descriptor<" + std::to_string(2 * elements) + ">";
  return "hconv::planar_descriptor<" + std::to_string(2 * plane()) + ", " + std::to_string(16 * group) + ">";
}

Stmt lay_out_rows(CudaKernel &kernel, const Stmt &body, const DescribedRows &rows, bool fence) {
  if (rows.swizzled)
    kernel.shared_alignment[rows.array] = 2 * rows.period();
  return LayOut(kernel, rows, fence).mutate(body);
}

} // namespace hconv
