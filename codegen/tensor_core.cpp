#include "tensor_core.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

class TensorCore : public IRMutator {
public:
  explicit TensorCore(const TensorCoreRequest &request) : request(request) {}
  bool found = false;

private:
  const TensorCoreRequest &request;
  Lets lets;

  using IRMutator::visit;

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  /** ldmatrix of all of B's tiles, two at a time where the innermost loop is even. */
  static Stmt load_b(const MatrixTile &tile) {
    const TileOperand &b = tile.b;
    const Expr lane = Variable::make(Int(32), kThreadIndex[0]);
    Place place = {{kThreadIndex[0], lane % 8 / 2}, {tile.pair, lane % 2}, {tile.k, lane / 8 % 2 * 8}};
    const int last = b.loops.empty() ? 1 : int(*as_const_int(b.loops.back()->extent));
    if (last % 2 != 0) {
      Stmt load = call_statement("hconv::load_matrix_x2", {address(UInt(32), "b_fragments", tile_number(b.loops) * 2),
                                                           address(b.load->type, b.load->name, at(b.address, place))});
      return in_tile_loops(load, b.loops);
    }
    // Lanes 16 to 31 give the rows of the next tile.
    const std::string &n = b.loops.back()->name;
    const Expr two = Variable::make(Int(32), n) * 2;
    place[n] = two + lane / 16;
    const Expr to = at(tile_number(b.loops), {{n, two}}) * 2;
    Stmt load = call_statement("hconv::load_matrix_x4", {address(UInt(32), "b_fragments", to),
                                                         address(b.load->type, b.load->name, at(b.address, place))});
    return in_tile_loops(load, b.loops, last / 2);
  }

  static Stmt build(const MatrixTile &tile) {
    std::vector<Expr> args;
    for (int m = 0; m < 2; m++) {
      for (int n = 0; n < 2; n++)
        args.push_back(load(Float(32), tile.accumulators, at(tile.accumulator, {{tile.m_half, m}, {tile.pair, n}})));
    }
    args.push_back(address(UInt(32), "a_fragments", tile_number(tile.a.loops) * 4));
    args.push_back(address(UInt(32), "b_fragments", tile_number(tile.b.loops) * 2));
    Stmt mma = call_statement(tile.a.load->type.is_bfloat() ? "hconv::mma_bf16" : "hconv::mma_f16", args);
    Stmt all = Block::make({load_a_tiles(tile, tile.a.address, "a_fragments", 0), load_b(tile),
                            in_tile_loops(in_tile_loops(mma, tile.b.loops), tile.a.loops)});
    all = Allocate::make("b_fragments", UInt(32), MemoryType::Register, {2 * tile_count(tile.b.loops)}, const_true(),
                         all);
    return Allocate::make("a_fragments", UInt(32), MemoryType::Register, {4 * tile_count(tile.a.loops)}, const_true(),
                          all);
  }

  Stmt visit(const For *op) override {
    const auto tile = matrix_tile(op, lets, request);
    if (!tile)
      return IRMutator::visit(op);
    found = true;
    return build(*tile);
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
