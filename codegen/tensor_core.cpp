#include "tensor_core.h"

#include <sstream>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kLanes = 32, kDepth = 16, kRowElements = 8; // a row of an 8x8 matrix is 16 bytes

std::string last_name(const std::string &name) {
  return name.substr(name.rfind('.') + 1);
}

/** A nest of constant loops around one multiply-accumulate, with all lets put in. */
struct Nest {
  std::vector<const For *> loops; // outermost first
  std::string accumulators;
  Expr accumulator;                   // index
  const Load *factors[2] = {nullptr}; // the operands of the product
  Expr addresses[2];                  // their indices

  const For *find(const std::string &name) const {
    for (const For *loop : loops) {
      if (last_name(loop->name) == name)
        return loop;
    }
    return nullptr;
  }
};

/** One operand of the tile: rows of 16 elements along k. */
struct Operand {
  const Load *load;
  Expr address;
  std::vector<const For *> loops; // over tiles; only this operand depends on them
};

class TensorCore : public IRMutator {
public:
  explicit TensorCore(const TensorCoreRequest &request) : request(request) {}
  bool found = false;

private:
  const TensorCoreRequest &request;
  std::vector<std::pair<std::string, Expr>> lets;

  using IRMutator::visit;

  void check(bool ok, const std::string &why) const {
    _halide_user_assert(ok) << "Loop " << request.k << " cannot run on the tensor cores: " << why;
  }

  static std::string text(const Expr &e) {
    std::ostringstream out;
    out << e;
    return out.str();
  }

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  static Expr with_lets(Expr e, const std::vector<std::pair<std::string, Expr>> &all) {
    for (auto let = all.rbegin(); let != all.rend(); ++let)
      e = substitute(let->first, let->second, e);
    return simplify(substitute_in_all_lets(e));
  }

  /** The loops below op, if they hold nothing but each other, lets and one store. */
  bool collect(const For *op, Nest &nest) const {
    std::vector<std::pair<std::string, Expr>> inner = lets;
    Stmt s = op;
    for (;;) {
      if (const LetStmt *let = s.as<LetStmt>()) {
        inner.emplace_back(let->name, let->value);
        s = let->body;
      } else if (const ProducerConsumer *p = s.as<ProducerConsumer>()) {
        s = p->body;
      } else if (const For *loop = s.as<For>()) {
        nest.loops.push_back(loop);
        s = loop->body;
      } else {
        break;
      }
    }
    const Store *store = s.as<Store>();
    if (!store || !nest.find(request.k))
      return false;
    nest.accumulators = store->name;
    nest.accumulator = with_lets(store->index, inner);
    // acc + float(A) * float(B)
    const Add *add = store->value.as<Add>();
    const Mul *mul = add ? add->b.as<Mul>() : nullptr;
    const Load *old = add ? add->a.as<Load>() : nullptr;
    check(mul && old && old->name == store->name && equal(with_lets(old->index, inner), nest.accumulator),
          "its body is not acc[i] = acc[i] + a * b");
    const Expr sides[2] = {mul->a, mul->b};
    for (int i = 0; i < 2; i++) {
      const Cast *cast = sides[i].as<Cast>();
      nest.factors[i] = cast ? cast->value.as<Load>() : nullptr;
      check(nest.factors[i] && cast->type == Float(32) && nest.factors[i]->type.bits() == 16 &&
                nest.factors[i]->type.is_float(),
            "a factor is " + text(sides[i]) + ", not a 16-bit float made a float32");
      nest.addresses[i] = with_lets(nest.factors[i]->index, inner);
    }
    check(nest.factors[0]->type == nest.factors[1]->type, "its factors have two types");
    return true;
  }

  /** True where each loop except k moves the accumulators: then op is the outermost loop of the tiles. */
  bool is_tile_nest(const Nest &nest) const {
    for (const For *loop : nest.loops) {
      if (last_name(loop->name) != request.k && !expr_uses_var(nest.accumulator, loop->name))
        return false;
    }
    return true;
  }

  using Place = std::map<std::string, Expr>;

  /** e with all variables of `place` replaced at once. */
  static Expr at(Expr e, const Place &place) {
    for (const auto &[name, value] : place)
      e = substitute(name, Variable::make(Int(32), name + ".new"), e);
    for (const auto &[name, value] : place)
      e = substitute(name + ".new", value, e);
    return simplify(e);
  }

  int64_t distance(const Expr &address, const Place &from, const Place &to, const std::string &what) const {
    const Expr difference = simplify(at(address, to) - at(address, from));
    const auto constant = as_const_int(difference);
    check(bool(constant), what + " does not move by a constant within a tile, but by " + text(difference));
    return *constant;
  }

  /** Proves that an operand's row depends on `row_of(lane)` and half alone, is dense along k and aligned. */
  void prove(const Operand &operand, const std::string &half, const std::string &other_half, int row_of_lane[kLanes],
             const std::string &what) const {
    check(!expr_uses_var(operand.address, other_half), what + " depends on " + last_name(other_half));
    const std::string k = last_k;
    const Place origin = {{kThreadIndex[0], 0}, {k, 0}, {half, 0}};
    // With k left open, so that what holds of one lane's k holds of all.
    const Place first_row = {{kThreadIndex[0], 0}, {half, 0}};
    std::map<std::pair<int, int>, int64_t> rows; // (row, half) -> distance
    for (int lane = 0; lane < kLanes; lane++) {
      for (int h = 0; h < 2; h++) {
        const int64_t row = distance(operand.address, first_row, {{kThreadIndex[0], lane}, {half, h}}, what);
        const auto known = rows.emplace(std::make_pair(row_of_lane[lane], h), row).first;
        check(known->second == row,
              what + " differs between lanes that should read one row, at lane " + std::to_string(lane));
        check(row % kRowElements == 0,
              what + "'s rows are " + std::to_string(row) + " elements apart, not a multiple of 8");
      }
    }
    for (int step = 1; step < kDepth; step++)
      check(distance(operand.address, origin, {{kThreadIndex[0], 0}, {k, step}, {half, 0}}, what) == step,
            what + " is not dense along k");
    const ModulusRemainder aligned = modulus_remainder(at(operand.address, origin));
    check(aligned.modulus % kRowElements == 0 && aligned.remainder % kRowElements == 0,
          what + "'s address " + text(at(operand.address, origin)) + " is not proved a multiple of 8 elements");
  }

  std::string last_k;

  static Expr element(const std::string &array, Type type, const Expr &index) {
    return Load::make(type, array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
  }

  static Expr address(const std::string &array, Type type, const Expr &index) {
    return Call::make(Handle(), kAddressOf, {element(array, type, index)}, Call::PureExtern);
  }

  static Stmt call(const std::string &name, const std::vector<Expr> &args) {
    return Evaluate::make(Call::make(Int(32), name, args, Call::Extern));
  }

  static int count(const std::vector<const For *> &loops) {
    int tiles = 1;
    for (const For *loop : loops)
      tiles *= int(*as_const_int(loop->extent));
    return tiles;
  }

  /** The number of a tile, the innermost loop's counting first. */
  static Expr number(const std::vector<const For *> &loops) {
    Expr n = 0;
    for (const For *loop : loops)
      n = n * int(*as_const_int(loop->extent)) + Variable::make(Int(32), loop->name);
    return simplify(n);
  }

  static Stmt in_loops(Stmt s, const std::vector<const For *> &loops, int last_extent = 0) {
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      const bool innermost = loop == loops.rbegin() && last_extent > 0;
      Expr extent = innermost ? Expr(last_extent) : (*loop)->extent;
      s = For::make((*loop)->name, 0, extent, ForType::Serial, Partition::Never, DeviceAPI::None, s);
    }
    return s;
  }

  /** ldmatrix of all of A's tiles: lane l gives row l % 8 of the 8x8 matrix l / 8, which is (m_half, k half). */
  Stmt load_a(const Operand &a, const std::string &m_half) const {
    const Expr lane = Variable::make(Int(32), kThreadIndex[0]);
    Expr row = at(a.address, {{kThreadIndex[0], lane % 8 * 4}, {m_half, lane / 8 % 2}, {last_k, lane / 16 * 8}});
    Stmt load = call("hconv::load_matrix_x4",
                     {address("a_fragments", UInt(32), number(a.loops) * 4), address(a.load->name, a.load->type, row)});
    return in_loops(load, a.loops);
  }

  /** ldmatrix of all of B's tiles, two at a time where the innermost loop is even. */
  Stmt load_b(const Operand &b, const std::string &pair) const {
    const Expr lane = Variable::make(Int(32), kThreadIndex[0]);
    Place place = {{kThreadIndex[0], lane % 8 / 2}, {pair, lane % 2}, {last_k, lane / 8 % 2 * 8}};
    const int last = b.loops.empty() ? 1 : int(*as_const_int(b.loops.back()->extent));
    if (last % 2 != 0) {
      Stmt load = call("hconv::load_matrix_x2", {address("b_fragments", UInt(32), number(b.loops) * 2),
                                                 address(b.load->name, b.load->type, at(b.address, place))});
      return in_loops(load, b.loops);
    }
    // Lanes 16 to 31 give the rows of the next tile.
    const std::string &n = b.loops.back()->name;
    const Expr two = Variable::make(Int(32), n) * 2;
    place[n] = two + lane / 16;
    const Expr to = at(number(b.loops), {{n, two}}) * 2;
    Stmt load = call("hconv::load_matrix_x4",
                     {address("b_fragments", UInt(32), to), address(b.load->name, b.load->type, at(b.address, place))});
    return in_loops(load, b.loops, last / 2);
  }

  Stmt build(const Nest &nest, const Operand &a, const Operand &b, const std::string &m_half,
             const std::string &pair) const {
    std::vector<Expr> args;
    for (int m = 0; m < 2; m++) {
      for (int n = 0; n < 2; n++)
        args.push_back(element(nest.accumulators, Float(32), at(nest.accumulator, {{m_half, m}, {pair, n}})));
    }
    args.push_back(address("a_fragments", UInt(32), number(a.loops) * 4));
    args.push_back(address("b_fragments", UInt(32), number(b.loops) * 2));
    Stmt mma = call(a.load->type.is_bfloat() ? "hconv::mma_bf16" : "hconv::mma_f16", args);
    Stmt all = Block::make({load_a(a, m_half), load_b(b, pair), in_loops(in_loops(mma, b.loops), a.loops)});
    all = Allocate::make("b_fragments", UInt(32), MemoryType::Register, {2 * count(b.loops)}, const_true(), all);
    return Allocate::make("a_fragments", UInt(32), MemoryType::Register, {4 * count(a.loops)}, const_true(), all);
  }

  std::string tile_loop(const Nest &nest, const std::string &name, int extent) const {
    const For *loop = nest.find(name);
    check(loop, "there is no loop " + name + " in its nest");
    check(is_const(loop->extent, extent),
          "loop " + name + " has the extent " + text(loop->extent) + ", expected " + std::to_string(extent));
    return loop->name;
  }

  Stmt visit(const For *op) override {
    Nest nest;
    if (!collect(op, nest) || !is_tile_nest(nest))
      return IRMutator::visit(op);
    found = true;
    last_k = tile_loop(nest, request.k, kDepth);
    const std::string m_half = tile_loop(nest, request.m_half, 2), pair = tile_loop(nest, request.pair, 2);
    check(!expr_uses_var(nest.accumulator, last_k), "its sums " + text(nest.accumulator) + " depend on " + request.k);
    const int first = expr_uses_var(nest.addresses[0], m_half) ? 0 : 1;
    Operand a = {nest.factors[first], nest.addresses[first], {}};
    Operand b = {nest.factors[1 - first], nest.addresses[1 - first], {}};
    for (const For *loop : nest.loops) {
      check(is_const(loop->extent) && is_const_zero(loop->min), "loop " + loop->name + " is not constant");
      if (loop->name == last_k || loop->name == m_half || loop->name == pair)
        continue;
      const bool in_a = expr_uses_var(a.address, loop->name), in_b = expr_uses_var(b.address, loop->name);
      check(in_a != in_b, "loop " + loop->name + " moves " + (in_a ? "both factors" : "neither factor"));
      (in_a ? a : b).loops.push_back(loop);
    }
    int row_of_lane[2][kLanes]; // of A: lane / 4; of B: lane % 4
    for (int lane = 0; lane < kLanes; lane++) {
      row_of_lane[0][lane] = lane / 4;
      row_of_lane[1][lane] = lane % 4;
    }
    prove(a, m_half, pair, row_of_lane[0], "the factor of the rows, " + a.load->name + ",");
    prove(b, pair, m_half, row_of_lane[1], "the factor of the columns, " + b.load->name + ",");
    return build(nest, a, b, m_half, pair);
  }
};

} // namespace

Stmt tensor_core(const Stmt &body, const TensorCoreRequest &request) {
  if (request.k.empty())
    return body;
  TensorCore pass(request);
  Stmt result = pass.mutate(body);
  _halide_user_assert(pass.found) << "No loop nest around " << request.k << " for the tensor cores";
  return result;
}

} // namespace hconv
