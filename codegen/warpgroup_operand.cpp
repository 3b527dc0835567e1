#include "warpgroup_operand.h"

#include "linear_index.h"
#include <algorithm>
#include <sstream>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kDepth = 16, kWarps = 4, kGroup = 8, kMostColumns = 256;

class ColumnProver {
public:
  ColumnProver(const MatrixTile &tile, const WarpgroupNest &nest)
      : tile(tile), nest(nest), b(tile.b.address), what("the factor of the columns, " + tile.b.load->name + ",") {}

  WarpgroupColumns prove() {
    rows().array = tile.b.load->name;
    prove_rows();
    prove_warps();
    share_out();
    prove_bounds();
    return columns;
  }

private:
  const MatrixTile &tile;
  const WarpgroupNest &nest;
  const Expr &b;
  const std::string what;
  WarpgroupColumns columns;

  DescribedRows &rows() { return columns.rows; }

  void check(bool ok, const std::string &why) const { check_tile(ok, nest.request, why); }

  int64_t distance(const Place &to) const {
    Place from = to;
    for (auto &place : from)
      place.second = 0;
    return tile_distance(b, from, to, nest.request, what);
  }

  void prove_rows() {
    const int64_t pitch = distance(column_place(tile, {}, 1));
    check(pitch == 16 || pitch == 32 || pitch == 64,
          what + "'s rows are " + std::to_string(pitch) + " elements apart, expected 16, 32 or 64");
    for (int i = 2; i < kGroup; i++)
      check(distance(column_place(tile, {}, i)) == i * pitch,
            what + "'s row " + std::to_string(i) + " is not behind the one before it");
    for (int i = 1; i < nest.steps; i++)
      check(distance({{nest.step, i}}) == i * kDepth, what + " is not dense along the steps of " + nest.step);
    check(nest.steps * kDepth <= pitch, what + "'s rows are shorter than all steps");
    rows().elements = int(pitch);
  }

  void prove_warps() const {
    check(nest.kernel.block[1] % kWarps == 0,
          "there are " + std::to_string(nest.kernel.block[1]) + " warps along y, expected a multiple of 4");
    const Expr group = Variable::make(Int(32), kThreadIndex[1]) * kWarps;
    for (int w = 1; w < kWarps; w++)
      check(tile_distance(b, {{kThreadIndex[1], group}}, {{kThreadIndex[1], group + w}}, nest.request, what) == 0,
            what + " differs between the warps of a warpgroup");
  }

  /** Takes loops into one instruction, from the innermost one out, while the groups stay evenly apart. */
  void share_out() {
    int groups = 1;
    for (auto loop = tile.b.loops.rbegin(); loop != tile.b.loops.rend(); ++loop) {
      const int64_t step = distance({{(*loop)->name, 1}}), extent = *as_const_int((*loop)->extent);
      check(step % rows().elements == 0, what + " does not move by whole rows along loop " + (*loop)->name);
      if (groups == 1)
        rows().group = step / rows().elements;
      const bool even = step == groups * rows().group * rows().elements &&
                        distance({{(*loop)->name, int(extent - 1)}}) == step * (extent - 1);
      if (columns.outer.empty() && even && step > 0 && groups * extent * kGroup <= kMostColumns) {
        columns.inner.insert(columns.inner.begin(), *loop);
        groups *= int(extent);
      } else {
        columns.outer.insert(columns.outer.begin(), *loop);
        columns.rows_apart[(*loop)->name] = step / rows().elements;
      }
    }
    const int n = columns.columns(); // hconv_wgmma.h has these
    check(n % 32 == 0 || n == 56 || n == 112, "an instruction would have " + std::to_string(n) +
                                                  " columns, expected 56, 112 or a multiple of 32 up to 256");
  }

  /** Finds the first element, whether the swizzle fits, and what the rows take of the array. */
  void prove_bounds() {
    Place origin = column_place(tile, tile.b.loops, 0);
    origin[nest.step] = 0;
    columns.first = linear_index(at(b, origin), Scope<Expr>()).sum();
    std::ostringstream text;
    text << columns.first;
    const Expr low = find_constant_bound(columns.first, Direction::Lower, nest.ranges);
    const Expr high = find_constant_bound(columns.first, Direction::Upper, nest.ranges);
    check(low.defined() && high.defined() && is_const(low) && is_const(high),
          what + "'s address " + text.str() + " has no constant bounds");
    rows().begin = *as_const_int(low);
    int64_t last = (tile_count(columns.inner) - 1) * rows().group + kGroup;
    bool aligned = rows().group == kGroup && is_multiple(columns.first, rows().period());
    for (const For *loop : columns.outer) {
      const int64_t apart = columns.rows_apart.at(loop->name);
      last += apart * (*as_const_int(loop->extent) - 1);
      aligned &= apart % kGroup == 0;
    }
    rows().end = *as_const_int(high) + last * rows().elements;
    rows().swizzled = aligned;
    check(is_multiple(simplify(columns.first - int(rows().begin)), rows().elements),
          what + "'s address " + text.str() + " is not proved the start of a row");
  }

  static bool is_multiple(const Expr &e, int of) {
    const ModulusRemainder m = modulus_remainder(e);
    return m.modulus % of == 0 && m.remainder % of == 0;
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

} // namespace hconv
