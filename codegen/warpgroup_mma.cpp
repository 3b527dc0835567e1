#include "warpgroup_mma.h"

#include "warpgroup_operand.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr const char *kFragments = "a_fragments", *kDescriptorA = "a_descriptor", *kDescriptor = "b_descriptor";

class WarpgroupMma : public IRMutator {
public:
  WarpgroupMma(const CudaKernel &kernel, const WarpgroupRequest &request, bool pipelined)
      : kernel(kernel), request(request), pipelined(pipelined) {
    for (int axis = 0; axis < 3; axis++)
      ranges.push(kThreadIndex[axis], Interval(0, kernel.block[axis] - 1));
  }

  bool found = false, closed = false;
  int fragments = 0;                   // registers of A
  std::vector<DescribedRows> operands; // that descriptors describe

private:
  const CudaKernel &kernel;
  const WarpgroupRequest &request;
  const bool pipelined;
  Lets lets;
  Scope<Interval> ranges; // of thread indices and constant loops
  std::map<std::string, int> sizes;
  std::string sums;

  using IRMutator::visit;

  void check(bool ok, const std::string &why) const { check_tile(ok, request.tile, why); }

  Stmt visit(const Allocate *op) override {
    sizes[op->name] = op->constant_allocation_size();
    return IRMutator::visit(op);
  }

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  /** The innermost producer around the nest is the sums': what it leaves must be there. */
  Stmt visit(const ProducerConsumer *op) override {
    Stmt s = IRMutator::visit(op);
    if (!op->is_producer || !found || closed)
      return s;
    closed = true;
    Stmt wait =
        call_statement("hconv::wgmma_wait_all<" + std::to_string(sizes.at(sums)) + ">", {address(Float(32), sums, 0)});
    return ProducerConsumer::make(op->name, true, Block::make(s.as<ProducerConsumer>()->body, wait));
  }

  Stmt visit(const For *op) override {
    const auto extent = as_const_int(op->extent);
    if (!extent || !is_const_zero(op->min))
      return IRMutator::visit(op);
    ScopedBinding<Interval> bind(ranges, op->name, Interval(0, int(*extent) - 1));
    if (last_name(op->name) != request.step)
      return one_step(op);
    const size_t outside = lets.size();
    Stmt inner = op->body;
    while (const LetStmt *let = inner.as<LetStmt>()) {
      lets.emplace_back(let->name, let->value);
      inner = let->body;
    }
    const For *loop = inner.as<For>();
    const auto tile = loop ? matrix_tile(loop, lets, request.tile) : std::nullopt;
    lets.resize(outside);
    if (!tile)
      return IRMutator::visit(op);
    check(!found, "there are two such nests");
    found = true;
    check(request.a_shared || *extent % 2 == 0,
          "loop " + request.step + " has the extent " + std::to_string(*extent) + ", expected an even one");
    return build(*tile, op->name, int(*extent));
  }

  /** Halide leaves out a loop over one step. */
  Stmt one_step(const For *op) {
    const auto tile = request.a_shared && !found ? matrix_tile(op, lets, request.tile) : std::nullopt;
    if (!tile)
      return IRMutator::visit(op);
    found = true;
    return build(*tile, op->name + ".step", 1);
  }

  /** "hconv::wgmma_bf16<N, ...>", with the distances of neighbouring tiles, halves and pairs among the sums. */
  std::string instruction(const MatrixTile &tile, const WarpgroupColumns &columns) const {
    const std::string what = "its sums " + tile.accumulators;
    auto apart = [&](const std::string &loop, int by) {
      return tile_distance(tile.accumulator, {{loop, 0}}, {{loop, by}}, request.tile, what);
    };
    const int n = columns.columns();
    int64_t tiles = 0; // distance of neighbouring tiles
    int groups = 1;
    for (auto loop = columns.inner.rbegin(); loop != columns.inner.rend(); ++loop) {
      const int extent = int(*as_const_int((*loop)->extent));
      tiles = groups == 1 ? apart((*loop)->name, 1) : tiles;
      for (int i = 1; i < extent; i++)
        check(apart((*loop)->name, i) == i * groups * tiles, what + " are not evenly apart");
      groups *= extent;
    }
    std::string name = tile.b.load->type.is_bfloat() ? "hconv::wgmma_bf16<" : "hconv::wgmma_f16<";
    name += std::to_string(n) + ", " + std::to_string(tiles) + ", " + std::to_string(apart(tile.m_half, 1)) + ", ";
    return name + std::to_string(apart(tile.pair, 1)) + ">";
  }

  Stmt build(const MatrixTile &tile, const std::string &step, int steps) {
    const WarpgroupNest nest = {kernel, request.tile, ranges, step, steps};
    const WarpgroupColumns columns = warpgroup_columns(tile, nest);
    operands.push_back(columns.rows);
    sums = tile.accumulators;
    Stmt products = request.a_shared ? from_shared(tile, columns, warpgroup_rows(tile, nest), step, steps)
                                     : from_registers(tile, columns, step, steps);
    return LetStmt::make(kDescriptor, descriptor(columns.rows, tile.b, columns.first), products);
  }

  static Expr descriptor(const DescribedRows &rows, const TileOperand &operand, const Expr &first) {
    return Call::make(UInt(64), rows.descriptor(), {address(operand.load->type, operand.load->name, first)},
                      Call::PureExtern);
  }

  /** The descriptor `name` moved by steps along k and by loops over instructions. */
  static Expr moved(const std::string &name, const DescribedRows &rows, const Expr &steps,
                    const std::map<std::string, int64_t> &rows_apart) {
    Expr units = steps * int(rows.next_step());
    for (const auto &[loop, apart] : rows_apart)
      units += Variable::make(Int(32), loop) * int(rows.rows_apart(apart));
    return simplify(Variable::make(UInt(64), name) + cast<uint64_t>(simplify(units)));
  }

  /** The address of the first sum of one instruction. */
  Expr first_sum(const MatrixTile &tile, const WarpgroupColumns &columns) const {
    Place origin = column_place(tile, columns.inner, 0);
    origin[tile.m_half] = 0;
    return address(Float(32), sums, at(tile.accumulator, origin));
  }

  static Stmt for_steps(const std::string &step, int steps, const Stmt &s) {
    return For::make(step, 0, steps, ForType::Serial, Partition::Never, DeviceAPI::None, s);
  }

  Stmt from_registers(const MatrixTile &tile, const WarpgroupColumns &columns, const std::string &step, int steps) {
    const int tiles = tile_count(tile.a.loops), half = steps / 2;
    fragments = 4 * tiles * steps;
    const std::string wgmma = instruction(tile, columns);
    const Expr i = Variable::make(Int(32), step);
    std::vector<Stmt> list;
    for (int h = 0; h < 2; h++) {
      const Expr at_step = simplify(i + h * half), registers = simplify(at_step * (4 * tiles));
      list.push_back(
          for_steps(step, half, load_a_tiles(tile, at(tile.a.address, {{step, at_step}}), kFragments, registers)));
      list.push_back(call_statement("hconv::wgmma_fence", {}));
      const Expr a = simplify(registers + tile_number(tile.a.loops) * 4);
      Stmt product = call_statement(wgmma, {first_sum(tile, columns), address(UInt(32), kFragments, a),
                                            moved(kDescriptor, columns.rows, at_step, columns.rows_apart)});
      list.push_back(for_steps(step, half, in_tile_loops(in_tile_loops(product, tile.a.loops), columns.outer)));
      list.push_back(call_statement("hconv::wgmma_commit", {}));
      list.push_back(call_statement(std::string("hconv::wgmma_wait<") + (pipelined || h == 0 ? "1" : "0") + ">", {}));
    }
    return Block::make(list);
  }

  Stmt from_shared(const MatrixTile &tile, const WarpgroupColumns &columns, const WarpgroupRows &a,
                   const std::string &step, int steps) {
    operands.push_back(a.rows);
    const Expr i = steps == 1 ? Expr(0) : Variable::make(Int(32), step);
    Stmt product = call_statement(instruction(tile, columns),
                                  {first_sum(tile, columns), moved(kDescriptorA, a.rows, i, a.rows_apart),
                                   moved(kDescriptor, columns.rows, i, columns.rows_apart)});
    Stmt products = in_tile_loops(in_tile_loops(product, tile.a.loops), columns.outer);
    if (steps > 1)
      products = for_steps(step, steps, products);
    if (!pipelined)
      products = Block::make({call_statement("hconv::wgmma_fence", {}), products,
                              call_statement("hconv::wgmma_commit", {}), call_statement("hconv::wgmma_wait<0>", {})});
    return LetStmt::make(kDescriptorA, descriptor(a.rows, tile.a, a.first), products);
  }
};

} // namespace

void warpgroup_mma(CudaKernel &kernel, const WarpgroupRequest &request, bool pipelined) {
  if (request.step.empty())
    return;
  WarpgroupMma pass(kernel, request, pipelined);
  Stmt body = pass.mutate(kernel.body);
  _halide_user_assert(pass.found) << "No loop nest " << request.step << " around " << request.tile.k
                                  << " for the tensor cores of a warpgroup";
  _halide_user_assert(pass.closed) << "Loop " << request.tile.k << " is in no producer of its sums";
  body = lay_out_rows(kernel, body, pass.operands, !pipelined);
  if (pass.fragments > 0)
    body = Allocate::make(kFragments, UInt(32), MemoryType::Register, {pass.fragments}, const_true(), body);
  kernel.body = simplify(body); // the nest's lets may have no use any more
}

} // namespace hconv
