#include "warpgroup_operand.h"

#include "linear_index.h"
#include <functional>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kDepth = 16, kWarps = 4, kGroup = 8, kMostColumns = 256;

/** What the proofs of either operand share: dense rows, 8 neighbours of which are a group. */
class OperandProver {
public:
  OperandProver(const TileOperand &operand, const WarpgroupNest &nest, const std::string &what)
      : nest(nest), operand(operand), what(what + operand.load->name + ",") {
    rows.array = operand.load->name;
  }

protected:
  const WarpgroupNest &nest;
  const TileOperand &operand;
  const std::string what;
  DescribedRows rows;
  Expr first;

  void check(bool ok, const std::string &why) const { check_tile(ok, nest.request, why); }

  int64_t distance(const Place &to) const {
    Place from = to;
    for (auto &place : from)
      place.second = 0;
    return tile_distance(operand.address, from, to, nest.request, what);
  }

  /** The first warp of a thread's warpgroup. */
  Expr warpgroup() const {
    const Expr warp = Variable::make(Int(32), kThreadIndex[1]);
    return nest.kernel.block[1] == kWarps ? Expr(0) : warp / kWarps * kWarps;
  }

  /** `row(i)` is the place of row i of a group. */
  void prove_group(const std::function<Place(int)> &row) {
    const int64_t pitch = distance(row(1));
    check(pitch == 16 || pitch == 32 || pitch == 64,
          what + "'s rows are " + std::to_string(pitch) + " elements apart, expected 16, 32 or 64");
    for (int i = 2; i < kGroup; i++)
      check(distance(row(i)) == i * pitch, what + "'s row " + std::to_string(i) + " is not behind the one before it");
    for (int i = 1; i < nest.steps; i++)
      check(distance({{nest.step, i}}) == i * kDepth, what + " is not dense along the steps of " + nest.step);
    check(nest.steps * kDepth <= pitch, what + "'s rows are shorter than all steps");
    rows.elements = int(pitch);
  }

  void prove_whole_warpgroups() const {
    check(nest.kernel.block[1] % kWarps == 0,
          "there are " + std::to_string(nest.kernel.block[1]) + " warps along y, expected a multiple of 4");
  }

  /** Rows that a loop over tiles moves by. */
  int64_t moves_by(const For *loop) const {
    const int64_t step = distance({{loop->name, 1}});
    check(step % rows.elements == 0, what + " does not move by whole rows along loop " + loop->name);
    return step / rows.elements;
  }

  /** Finds the first element, whether the swizzle fits, and what the rows take of the array: `groups` are an
   * instruction's, and the loops move from one instruction to the next. */
  void prove_bounds(const Place &origin, int groups, const std::vector<const For *> &loops,
                    const std::map<std::string, int64_t> &rows_apart) {
    first = linear_index(at(operand.address, origin), Scope<Expr>()).sum();
    const std::string text = text_of(first);
    const Expr low = find_constant_bound(first, Direction::Lower, nest.ranges);
    const Expr high = find_constant_bound(first, Direction::Upper, nest.ranges);
    check(low.defined() && high.defined() && is_const(low) && is_const(high),
          what + "'s address " + text + " has no constant bounds");
    rows.begin = *as_const_int(low);
    int64_t last = (groups - 1) * rows.group + kGroup;
    bool aligned = rows.group == kGroup && is_multiple(first, rows.period());
    for (const For *loop : loops) {
      const int64_t apart = rows_apart.at(loop->name);
      last += apart * (*as_const_int(loop->extent) - 1);
      aligned &= apart % kGroup == 0;
    }
    rows.end = *as_const_int(high) + last * rows.elements;
    rows.swizzled = aligned;
    check(is_multiple(simplify(first - int(rows.begin)), rows.elements),
          what + "'s address " + text + " is not proved the start of a row");
  }

private:
  static bool is_multiple(const Expr &e, int of) {
    const ModulusRemainder m = modulus_remainder(e);
    return m.modulus % of == 0 && m.remainder % of == 0;
  }
};

class ColumnProver : OperandProver {
public:
  ColumnProver(const MatrixTile &tile, const WarpgroupNest &nest)
      : OperandProver(tile.b, nest, "the factor of the columns, "), tile(tile) {}

  WarpgroupColumns prove() {
    prove_group([&](int i) { return column_place(tile, {}, i); });
    prove_warps();
    share_out();
    Place origin = column_place(tile, tile.b.loops, 0);
    origin[nest.step] = 0;
    prove_bounds(origin, tile_count(columns.inner), columns.outer, columns.rows_apart);
    columns.rows = rows;
    columns.first = first;
    return columns;
  }

private:
  const MatrixTile &tile;
  WarpgroupColumns columns;

  void prove_warps() const {
    prove_whole_warpgroups();
    const Expr group = Variable::make(Int(32), kThreadIndex[1]) * kWarps;
    for (int w = 1; w < kWarps; w++)
      check(tile_distance(tile.b.address, {{kThreadIndex[1], group}}, {{kThreadIndex[1], group + w}}, nest.request,
                          what) == 0,
            what + " differs between the warps of a warpgroup");
  }

  /** Takes loops into one instruction, from the innermost one out, while the groups stay evenly apart. */
  void share_out() {
    int groups = 1;
    for (auto loop = tile.b.loops.rbegin(); loop != tile.b.loops.rend(); ++loop) {
      const int64_t step = moves_by(*loop), extent = *as_const_int((*loop)->extent);
      if (groups == 1)
        rows.group = step;
      const bool even = step == groups * rows.group &&
                        distance({{(*loop)->name, int(extent - 1)}}) == step * rows.elements * (extent - 1);
      if (columns.outer.empty() && even && step > 0 && groups * extent * kGroup <= kMostColumns) {
        columns.inner.insert(columns.inner.begin(), *loop);
        groups *= int(extent);
      } else {
        columns.outer.insert(columns.outer.begin(), *loop);
        columns.rows_apart[(*loop)->name] = step;
      }
    }
    const int n = columns.columns(); // hconv_wgmma.h has these
    check(n % 32 == 0 || n == 56 || n == 112, "an instruction would have " + std::to_string(n) +
                                                  " columns, expected 56, 112 or a multiple of 32 up to 256");
  }
};

class RowProver : OperandProver {
public:
  RowProver(const MatrixTile &tile, const WarpgroupNest &nest)
      : OperandProver(tile.a, nest, "the factor of the rows, "), tile(tile) {}

  WarpgroupRows prove() {
    prove_group([](int i) { return Place{{kThreadIndex[0], 4 * i}}; });
    prove_whole_warpgroups();
    prove_groups();
    WarpgroupRows result;
    Place origin = {
        {kThreadIndex[0], 0}, {kThreadIndex[1], warpgroup()}, {tile.m_half, 0}, {tile.k, 0}, {nest.step, 0}};
    for (const For *loop : tile.a.loops) {
      result.rows_apart[loop->name] = moves_by(loop);
      const int extent = int(*as_const_int(loop->extent));
      check(distance({{loop->name, extent - 1}}) == result.rows_apart[loop->name] * rows.elements * (extent - 1),
            what + " does not move evenly along loop " + loop->name);
      origin[loop->name] = 0;
    }
    prove_bounds(origin, 2 * kWarps, tile.a.loops, result.rows_apart);
    result.rows = rows;
    result.first = first;
    return result;
  }

private:
  const MatrixTile &tile;

  void prove_groups() {
    const Expr warps = Variable::make(Int(32), kThreadIndex[1]) * kWarps;
    for (int i = 1; i < 2 * kWarps; i++) {
      const int64_t moved = tile_distance(tile.a.address, {{kThreadIndex[1], warps}, {tile.m_half, 0}},
                                          {{kThreadIndex[1], warps + i / 2}, {tile.m_half, i % 2}}, nest.request, what);
      check(moved % rows.elements == 0, what + "'s groups of 8 rows are not whole rows apart");
      rows.group = i == 1 ? moved / rows.elements : rows.group;
      check(rows.group > 0 && moved == i * rows.group * rows.elements,
            what + "'s group " + std::to_string(i) + " of 8 rows is not as far from the one before it as group 1");
    }
  }
};

} // namespace

Place column_place(const MatrixTile &tile, const std::vector<const For *> &inner, int n) {
  Place place = {{kThreadIndex[0], n % 8 / 2}, {tile.pair, n % 2}, {tile.k, 0}};
  int t = n / 8;
  for (auto loop = inner.rbegin(); loop != inner.rend(); ++loop) {
    const int extent = int(*as_const_int((*loop)->extent));
    place[(*loop)->name] = t % extent;
    t /= extent;
  }
  return place;
}

WarpgroupColumns warpgroup_columns(const MatrixTile &tile, const WarpgroupNest &nest) {
  return ColumnProver(tile, nest).prove();
}

WarpgroupRows warpgroup_rows(const MatrixTile &tile, const WarpgroupNest &nest) {
  return RowProver(tile, nest).prove();
}

} // namespace hconv
