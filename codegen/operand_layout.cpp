#include "operand_layout.h"

#include "linear_index.h"
#include "matrix_tile.h"
#include <algorithm>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kPiece = 8, kBanks = 64; // 16-bit elements of 16 and of 128 bytes

class LayOut : public IRMutator {
public:
  LayOut(const CudaKernel &kernel, const std::vector<DescribedRows> &operands, bool fence)
      : operands(operands), fence(fence) {
    for (int axis = 0; axis < 3; axis++)
      ranges.push(kThreadIndex[axis], Interval(0, kernel.block[axis] - 1));
  }

private:
  const std::vector<DescribedRows> &operands;
  const bool fence;
  Lets lets;
  Scope<Interval> ranges;
  std::map<std::string, int64_t> array_sizes;
  bool one_piece = false, stored = false;

  using IRMutator::visit;

  bool holds_rows(const std::string &array) const {
    return std::any_of(operands.begin(), operands.end(), [&](const DescribedRows &r) { return r.array == array; });
  }

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
    if (!holds_rows(op->name))
      return IRMutator::visit(op);
    const int64_t size = array_sizes[op->name] = op->constant_allocation_size();
    int64_t grown = size;
    int whole = kPiece;
    for (const DescribedRows &rows : operands) {
      if (rows.array != op->name)
        continue;
      const int64_t more = rows.size() - (rows.end - rows.begin);
      _halide_user_assert(more == 0 || rows.end == size)
          << "The rows of " << rows.array << " that wgmma reads, elements " << rows.begin << " to " << rows.end - 1
          << ", are not the last of its " << size;
      grown += more;
      whole = std::max(whole, rows.swizzled ? rows.period() : kPiece);
    }
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

  /** Where element `index` of an array lies; itself outside of all rows. */
  Expr place(const std::string &array, const Expr &index) {
    for (const DescribedRows &rows : operands) {
      const Expr moved = rows.array == array ? place_in(rows, index) : Expr();
      if (moved.defined())
        return moved;
    }
    return mutate(index);
  }

  /** Undefined outside of these rows. */
  Expr place_in(const DescribedRows &rows, const Expr &index) {
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
    if (!falls_into(rows, simplify(whole * unit + rest), index))
      return Expr();
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
  bool falls_into(const DescribedRows &rows, const Expr &full, const Expr &index) const {
    const auto low = bound(full, Direction::Lower), high = bound(full, Direction::Upper);
    const int64_t count = rows.end - rows.begin;
    if ((high && *high < 0) || (low && *low >= count))
      return false;
    _halide_user_assert(low && *low >= 0 && (rows.end == array_sizes.at(rows.array) || (high && *high < count)))
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
    if (!holds_rows(op->name))
      return IRMutator::visit(op);
    return Load::make(op->type, op->name, place(op->name, op->index), op->image, op->param, op->predicate,
                      ModulusRemainder());
  }

  Stmt visit(const Store *op) override {
    if (!holds_rows(op->name))
      return IRMutator::visit(op);
    const Expr value = mutate(op->value);
    ScopedValue<bool> scalar(one_piece, true);
    return Store::make(op->name, value, place(op->name, op->index), op->param, op->predicate, ModulusRemainder());
  }

  Expr visit(const Call *op) override {
    if (op->name == kAddressOf)
      return IRMutator::visit(op);
    int bytes = 1 << 20;
    if (op->name == "hconv::store_aligned")
      bytes = op->args[1].type().bytes() * op->args[1].type().lanes();
    else if (op->name == "hconv::load_aligned")
      bytes = op->type.bytes() * op->type.lanes();
    for (const DescribedRows &rows : operands) {
      if (op->name != rows.descriptor())
        continue;
      // A group that starts the swizzle's pattern has its first piece in place.
      if (rows.swizzled)
        return op;
      bytes = 16;
    }
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

Stmt lay_out_rows(CudaKernel &kernel, const Stmt &body, const std::vector<DescribedRows> &operands, bool fence) {
  for (const DescribedRows &rows : operands) {
    if (rows.swizzled)
      kernel.shared_alignment[rows.array] = std::max(kernel.shared_alignment[rows.array], 2 * rows.period());
  }
  return LayOut(kernel, operands, fence).mutate(body);
}

} // namespace hconv
