#include "spectrum_blocked.h"

#include "rounded.h"
#include "spectrum_lines.h"

using namespace Halide;

namespace hconv {

namespace {

/** Inverse along H of each c. The two columns of the last one are those of real values, V and V': they are put together
 * as V + i V', all around the circle. */
void transform_columns(BlockedInverse &s, const SpectrumTile &size, const SpectrumBlocks &blocks,
                       const Func &spectrum) {
  // Likely: the loop over c is cut there, so that no other c tests for it.
  Expr one_column = likely(s.c < size.columns() - 1);
  const int half = size.h / 2, first_of_two = size.h * (size.columns() - 1);
  Line packed;
  for (int k = 0; k < size.h; k++) {
    const int upper = k <= half ? k : size.h - k;
    auto one = [&](int part) { return spectrum(s.n, part, s.ic, s.c * size.h + k); };
    auto two = [&](int column, int part) {
      return spectrum(s.n, part, s.ic, first_of_two + column * (half + 1) + upper);
    };
    const Complex both = k <= half ? Complex{two(0, 0) - two(1, 1), two(0, 1) + two(1, 0)}
                                   : Complex{two(0, 0) + two(1, 1), two(1, 0) - two(0, 1)};
    packed.push_back({select(one_column, one(0), both.re), select(one_column, one(1), both.im)});
  }
  const std::vector<Var> others = {s.c, s.n, s.ic};
  define_line(s.columns.out, s.at, others,
              fourier_transform(packed, Direction::inverse, keep_levels("column_part", s.at, others, s.columns.parts),
                                blocks.levels));
}

/** Rows A = 2 p and B = 2 p + 1 as one line Z = A + i B, from k2 and, as both rows will be real, from its mirror. */
void pack_rows(BlockedInverse &s, const SpectrumTile &size) {
  Expr one_column = likely(s.c < size.columns() - 1);
  const Line column = line_of(s.columns.out, size_t(size.h), {s.c, s.n, s.ic});
  std::vector<Expr> values;
  for (size_t p = 0; p < size_t(size.pairs()); p++) {
    const Complex &a = column[2 * p], &b = column[2 * p + 1];
    // One column: conj(A) + i conj(B) on the other side. Two real ones: the first in the real parts.
    values.push_back(select(one_column, a.re - b.im, a.re));
    values.push_back(select(one_column, a.im + b.re, b.re));
    values.push_back(select(one_column, a.re + b.im, a.im));
    values.push_back(select(one_column, b.re - a.im, b.im));
  }
  s.lines(s.n, s.p, s.c, s.side, s.part, s.ic) = mux((2 * s.p + s.side) * 2 + s.part, values);
}

void transform_rows(BlockedInverse &s, const SpectrumTile &size, const SpectrumBlocks &blocks) {
  const Line packed = line_of_rows(s, s.lines, size);
  const std::vector<Var> others = {s.p, s.n, s.ic};
  define_line(s.rows.out, s.at, others,
              fourier_transform(packed, Direction::inverse, keep_levels("row_part", s.at, others, s.rows.parts),
                                blocks.levels));
  s.quads(s.k, s.n, s.q, s.h, s.ic) = s.rows.out(2 * (s.quad * s.q + s.k) + s.h % 2, s.h / 2, s.n, s.ic);
}

} // namespace

BlockedInverse blocked_output_spectrum(const Func &y, const Expr (&extent)[4], const Type &element,
                                       const SpectrumTile &size, const SpectrumBlocks &blocks, const Func &spectrum,
                                       const Expr &tiles, const TileGrid &grid, const Func &bias,
                                       const Expr &bias_extent, const Expr &has_bias) {
  BlockedInverse s;
  s.y = y;
  transform_columns(s, size, blocks, spectrum);
  pack_rows(s, size);
  transform_rows(s, size, blocks);

  s.origin(s.n) = Tuple(grid.origin(s.n));
  y(s.ow, s.oh, s.ic, s.image) = undef(element);
  const int quads = blocks.copied / s.quad;
  s.r = RDom({{0, s.quad},
              {0, quads},
              {0, 2},
              {0, size.w / blocks.copied},
              {0, 2},
              {0, blocks.lanes},
              {0, size.pairs()},
              {0, tiles / blocks.lanes}},
             "r");
  Expr rest = s.r[2] == 1, vector = s.r[3], h = s.r[6] * 2 + s.r[4], n = s.r[7] * blocks.lanes + s.r[5];
  Expr image = s.origin(n)[0], oh = s.origin(n)[1] + h, ow = s.origin(n)[2];
  Expr w = (vector * quads + s.r[1]) * s.quad + s.r[0], end = min(grid.step_w, extent[0] - ow);
  Expr whole = (vector + 1) * blocks.copied <= end;
  s.r.where(h < grid.step_h && oh < extent[1] && image < extent[3]);
  s.r.where((!rest && whole) || (rest && !whole && w < end));
  Expr sum = s.quads(s.r[0], n, vector * quads + s.r[1], h, s.ic);
  // Without a bias the buffer has one element of unspecified value, which the select drops.
  sum += select(has_bias != 0, cast<float>(bias(min(s.ic, bias_extent - 1))), 0.0f);
  auto within = [&](const Expr &i, int d) { return unsafe_promise_clamped(i, 0, extent[d] - 1); };
  y(within(ow + w, 0), within(oh, 1), s.ic, within(image, 3)) = rounded(sum, element);
  return s;
}

} // namespace hconv
