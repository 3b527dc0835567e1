#include "matrix_tile.h"

#include "linear_index.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

std::string last_name(const std::string &name) {
  return name.substr(name.rfind('.') + 1);
}

namespace {

constexpr int kLanes = 32, kDepth = 16, kRowElements = 8; // a row of an 8x8 matrix is 16 bytes

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

class Prover {
public:
  Prover(const TensorCoreRequest &request, const Lets &lets) : request(request), lets(lets) {}

  std::optional<MatrixTile> prove(const For *op) const {
    Nest nest;
    if (!collect(op, nest) || !is_tile_nest(nest))
      return std::nullopt;
    MatrixTile tile;
    tile.k = tile_loop(nest, request.k, kDepth);
    tile.m_half = tile_loop(nest, request.m_half, 2);
    tile.pair = tile_loop(nest, request.pair, 2);
    tile.accumulators = nest.accumulators;
    tile.accumulator = nest.accumulator;
    check(!expr_uses_var(nest.accumulator, tile.k),
          "its sums " + text_of(nest.accumulator) + " depend on " + request.k);
    const int first = expr_uses_var(nest.addresses[0], tile.m_half) ? 0 : 1;
    tile.a = {nest.factors[first], nest.addresses[first], {}};
    tile.b = {nest.factors[1 - first], nest.addresses[1 - first], {}};
    for (const For *loop : nest.loops) {
      check(is_const(loop->extent) && is_const_zero(loop->min), "loop " + loop->name + " is not constant");
      if (loop->name == tile.k || loop->name == tile.m_half || loop->name == tile.pair)
        continue;
      const bool in_a = expr_uses_var(tile.a.address, loop->name), in_b = expr_uses_var(tile.b.address, loop->name);
      check(in_a != in_b, "loop " + loop->name + " moves " + (in_a ? "both factors" : "neither factor"));
      (in_a ? tile.a : tile.b).loops.push_back(loop);
    }
    int row_of_lane[2][kLanes]; // of A: lane / 4; of B: lane % 4
    for (int lane = 0; lane < kLanes; lane++) {
      row_of_lane[0][lane] = lane / 4;
      row_of_lane[1][lane] = lane % 4;
    }
    prove_operand(tile.a, tile.k, tile.m_half, tile.pair, row_of_lane[0],
                  "the factor of the rows, " + tile.a.load->name + ",");
    prove_operand(tile.b, tile.k, tile.pair, tile.m_half, row_of_lane[1],
                  "the factor of the columns, " + tile.b.load->name + ",");
    return tile;
  }

private:
  const TensorCoreRequest &request;
  const Lets &lets;

  void check(bool ok, const std::string &why) const { check_tile(ok, request, why); }

  /** The loops below op, if they hold nothing but each other, lets and one store. */
  bool collect(const For *op, Nest &nest) const {
    Lets inner = lets;
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
            "a factor is " + text_of(sides[i]) + ", not a 16-bit float made a float32");
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

  int64_t distance(const Expr &address, const Place &from, const Place &to, const std::string &what) const {
    return tile_distance(address, from, to, request, what);
  }

  /** Proves that an operand's row depends on `row_of(lane)` and half alone, is dense along k and aligned. */
  void prove_operand(const TileOperand &operand, const std::string &k, const std::string &half,
                     const std::string &other_half, int row_of_lane[kLanes], const std::string &what) const {
    check(!expr_uses_var(operand.address, other_half), what + " depends on " + last_name(other_half));
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
          what + "'s address " + text_of(at(operand.address, origin)) + " is not proved a multiple of 8 elements");
  }

  std::string tile_loop(const Nest &nest, const std::string &name, int extent) const {
    const For *loop = nest.find(name);
    check(loop, "there is no loop " + name + " in its nest");
    check(is_const(loop->extent, extent),
          "loop " + name + " has the extent " + text_of(loop->extent) + ", expected " + std::to_string(extent));
    return loop->name;
  }
};

} // namespace

void check_tile(bool ok, const TensorCoreRequest &request, const std::string &why) {
  _halide_user_assert(ok) << "Loop " << request.k << " cannot run on the tensor cores: " << why;
}

std::optional<MatrixTile> matrix_tile(const For *op, const Lets &lets, const TensorCoreRequest &request) {
  return Prover(request, lets).prove(op);
}

Expr with_lets(Expr e, const Lets &lets) {
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    e = substitute(let->first, let->second, e);
  return simplify(substitute_in_all_lets(e));
}

Expr at(Expr e, const Place &place) {
  for (const auto &[name, value] : place)
    e = substitute(name, Variable::make(Int(32), name + ".new"), e);
  for (const auto &[name, value] : place)
    e = substitute(name + ".new", value, e);
  return simplify(e);
}

int64_t tile_distance(const Expr &address, const Place &from, const Place &to, const TensorCoreRequest &request,
                      const std::string &what) {
  const Expr difference = simplify(at(address, to) - at(address, from));
  const auto constant = as_const_int(difference);
  check_tile(bool(constant), request,
             what + " does not move by a constant within a tile, but by " + text_of(difference));
  return *constant;
}

int tile_count(const std::vector<const For *> &loops) {
  int tiles = 1;
  for (const For *loop : loops)
    tiles *= int(*as_const_int(loop->extent));
  return tiles;
}

Expr tile_number(const std::vector<const For *> &loops) {
  Expr n = 0;
  for (const For *loop : loops)
    n = n * int(*as_const_int(loop->extent)) + Variable::make(Int(32), loop->name);
  return simplify(n);
}

Stmt in_tile_loops(Stmt s, const std::vector<const For *> &loops, int last_extent) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const bool innermost = loop == loops.rbegin() && last_extent > 0;
    Expr extent = innermost ? Expr(last_extent) : (*loop)->extent;
    s = For::make((*loop)->name, 0, extent, ForType::Serial, Partition::Never, DeviceAPI::None, s);
  }
  return s;
}

Stmt load_a_tiles(const MatrixTile &tile, const Expr &place, const std::string &fragments, const Expr &first) {
  const Expr lane = Variable::make(Int(32), kThreadIndex[0]);
  const Expr row = at(place, {{kThreadIndex[0], lane % 8 * 4}, {tile.m_half, lane / 8 % 2}, {tile.k, lane / 16 * 8}});
  const Expr to = simplify(first + tile_number(tile.a.loops) * 4);
  Stmt load = call_statement("hconv::load_matrix_x4",
                             {address(UInt(32), fragments, to), address(tile.a.load->type, tile.a.load->name, row)});
  return in_tile_loops(load, tile.a.loops);
}

} // namespace hconv
