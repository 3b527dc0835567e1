#include "warpgroup_mma.h"

#include "linear_index.h"
#include "swizzle.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kDepth = 16, kWarps = 4;
constexpr const char *kFragments = "a_fragments", *kDescriptor = "b_descriptor";

class WarpgroupMma : public IRMutator {
public:
  WarpgroupMma(const CudaKernel &kernel, const WarpgroupRequest &request, bool pipelined)
      : kernel(kernel), request(request), pipelined(pipelined) {
    for (int axis = 0; axis < 3; axis++)
      ranges.push(kThreadIndex[axis], Interval(0, kernel.block[axis] - 1));
  }

  bool found = false, closed = false;
  int fragments = 0; // registers of A
  SwizzledRows rows; // B's

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

  int64_t distance(const Expr &address, const Place &to, const std::string &what) const {
    Place from = to;
    for (auto &place : from)
      place.second = 0;
    return tile_distance(address, from, to, request.tile, what);
  }

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
      return IRMutator::visit(op);
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
    check(*extent % 2 == 0,
          "loop " + request.step + " has the extent " + std::to_string(*extent) + ", expected an even one");
    return build(*tile, op->name, int(*extent));
  }

  /** The place of column n of B: lane, pair and the loops over tiles. */
  static Place column(const MatrixTile &tile, int n) {
    Place place = {{kThreadIndex[0], n % 8 / 2}, {tile.pair, n % 2}, {tile.k, 0}};
    int t = n / 8;
    for (auto loop = tile.b.loops.rbegin(); loop != tile.b.loops.rend(); ++loop) {
      const int extent = int(*as_const_int((*loop)->extent));
      place[(*loop)->name] = t % extent;
      t /= extent;
    }
    return place;
  }

  /** Proves that B is what a descriptor can describe; returns the address of its first element in the nest. */
  Expr prove_b(const MatrixTile &tile, const std::string &step, int steps) {
    const Expr &b = tile.b.address;
    const std::string what = "the factor of the columns, " + tile.b.load->name + ",";
    const int n = 8 * tile_count(tile.b.loops);
    check(n % 64 == 0 && n <= 256, "it has " + std::to_string(n) + " columns, expected 64, 128, 192 or 256");
    const int64_t pitch = distance(b, column(tile, 1), what);
    check(pitch == 16 || pitch == 32 || pitch == 64,
          what + "'s rows are " + std::to_string(pitch) + " elements apart, expected 16, 32 or 64");
    for (int i = 2; i < n; i++)
      check(distance(b, column(tile, i), what) == i * pitch,
            what + "'s row " + std::to_string(i) + " is not behind the one before it");
    for (int i = 1; i < steps; i++)
      check(distance(b, {{step, i}}, what) == i * kDepth, what + " is not dense along " + request.step);
    check(steps * kDepth <= pitch, what + "'s rows are shorter than all steps");
    check(kernel.block[1] % kWarps == 0,
          "there are " + std::to_string(kernel.block[1]) + " warps along y, expected a multiple of 4");
    const Expr group = Variable::make(Int(32), kThreadIndex[1]) * kWarps;
    for (int w = 1; w < kWarps; w++)
      check(tile_distance(b, {{kThreadIndex[1], group}}, {{kThreadIndex[1], group + w}}, request.tile, what) == 0,
            what + " differs between the warps of a warpgroup");
    Place origin = column(tile, 0);
    origin[step] = 0;
    const Expr first = at(b, origin);
    rows.array = tile.b.load->name;
    rows.elements = int(pitch);
    const ModulusRemainder aligned = modulus_remainder(first);
    std::ostringstream text;
    text << first;
    check(aligned.modulus % rows.period() == 0 && aligned.remainder % rows.period() == 0,
          what + "'s address " + text.str() + " is not proved a multiple of 8 rows");
    const Expr low = find_constant_bound(first, Direction::Lower, ranges);
    const Expr high = find_constant_bound(first, Direction::Upper, ranges);
    check(low.defined() && high.defined() && is_const(low) && is_const(high),
          what + "'s address " + text.str() + " has no constant bounds");
    rows.begin = *as_const_int(low);
    rows.end = *as_const_int(high) + int64_t(n) * pitch;
    return first;
  }

  /** "hconv::wgmma_bf16<N, ...>", with the distances of neighbouring tiles, halves and pairs among the sums. */
  std::string instruction(const MatrixTile &tile) const {
    const std::string what = "its sums " + tile.accumulators;
    const int n = 8 * tile_count(tile.b.loops);
    auto apart = [&](int columns) {
      Place place = column(tile, columns);
      place.erase(kThreadIndex[0]);
      place.erase(tile.k);
      return distance(tile.accumulator, place, what);
    };
    const int64_t next = n > 8 ? apart(8) : 0;
    for (int i = 16; i < n; i += 8)
      check(apart(i) == i / 8 * next, what + " are not evenly apart");
    return std::string("hconv::wgmma_") + (tile.b.load->type.is_bfloat() ? "bf16" : "f16") + "<" + std::to_string(n) +
           ", " + std::to_string(next) + ", " + std::to_string(distance(tile.accumulator, {{tile.m_half, 1}}, what)) +
           ", " + std::to_string(apart(1)) + ">";
  }

  Stmt build(const MatrixTile &tile, const std::string &step, int steps) {
    const Expr b = prove_b(tile, step, steps);
    const int tiles = tile_count(tile.a.loops), half = steps / 2;
    fragments = 4 * tiles * steps;
    sums = tile.accumulators;
    Place origin = column(tile, 0);
    origin[tile.m_half] = 0;
    const Expr first_sum = at(tile.accumulator, origin);
    const std::string wgmma = instruction(tile);
    const Expr i = Variable::make(Int(32), step);
    std::vector<Stmt> list;
    for (int h = 0; h < 2; h++) {
      const Expr at_step = simplify(i + h * half), registers = simplify(at_step * (4 * tiles));
      auto for_steps = [&](const Stmt &s) {
        return For::make(step, 0, half, ForType::Serial, Partition::Never, DeviceAPI::None, s);
      };
      list.push_back(for_steps(load_a_tiles(tile, at(tile.a.address, {{step, at_step}}), kFragments, registers)));
      list.push_back(call_statement("hconv::wgmma_fence", {}));
      // A step is 32 bytes of a row: 2 in the descriptor's units.
      const Expr descriptor = Variable::make(UInt(64), kDescriptor) + cast<uint64_t>(at_step * 2);
      const Expr a = simplify(registers + tile_number(tile.a.loops) * 4);
      Stmt product = call_statement(
          wgmma, {address(Float(32), sums, first_sum), address(UInt(32), kFragments, a), simplify(descriptor)});
      list.push_back(for_steps(in_tile_loops(product, tile.a.loops)));
      list.push_back(call_statement("hconv::wgmma_commit", {}));
      list.push_back(call_statement(std::string("hconv::wgmma_wait<") + (pipelined || h == 0 ? "1" : "0") + ">", {}));
    }
    const Expr descriptor = Call::make(UInt(64), "hconv::matrix_descriptor<" + std::to_string(2 * rows.elements) + ">",
                                       {address(tile.b.load->type, tile.b.load->name, b)}, Call::PureExtern);
    return LetStmt::make(kDescriptor, descriptor, Block::make(list));
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
  body = swizzle_rows(kernel, body, pass.rows, !pipelined);
  kernel.body = Allocate::make(kFragments, UInt(32), MemoryType::Register, {pass.fragments}, const_true(), body);
}

} // namespace hconv
