#include "spectrum_algorithm.h"

#include "spectrum_lines.h"

using namespace Halide;

namespace hconv {

namespace {

/** Inverse along H of each c. The two columns of the last one are those of real values, V and V': they are put together
 * as V + i V', all around the circle. */
void transform_columns(InverseSpectrum &s, const SpectrumTile &size, const Func &spectrum) {
  Expr two_columns = s.c == size.columns() - 1;
  const int most = size.most_of_column(), half = size.h / 2;
  Line values; // of c, in the order of the frequencies
  for (int j = 0; j < most; j++) {
    auto value = [&](int part) { return spectrum(s.n, part, s.ic, s.c * size.h + j); };
    // Only the last c has these.
    auto beyond = [&](int part) {
      return select(two_columns, spectrum(s.n, part, s.ic, size.frequencies() - most + j), 0.0f);
    };
    values.push_back(j < size.h ? Complex{value(0), value(1)} : Complex{beyond(0), beyond(1)});
  }
  const std::vector<Var> others = {s.c, s.n, s.ic};
  Hold hold = keep_levels("column_level", s.at, others, s.column_levels);
  values = hold(values);
  Line packed;
  for (int k = 0; k < size.h; k++) {
    const int upper = k <= half ? k : size.h - k;
    const Complex &one = values[size_t(k)], &v = values[size_t(upper)], &w = values[size_t(half + 1 + upper)];
    const Complex both = k <= half ? Complex{v.re - w.im, v.im + w.re} : Complex{v.re + w.im, w.re - v.im};
    packed.push_back({select(two_columns, both.re, one.re), select(two_columns, both.im, one.im)});
  }
  define_line(s.columns, s.at, others, fourier_transform(hold(packed), Direction::inverse, hold));
}

/** Rows A = 2 p and B = 2 p + 1 as one line Z = A + i B, from k2 and, as both rows will be real, from its mirror. */
void pack_rows(InverseSpectrum &s, const SpectrumTile &size) {
  Expr two_columns = s.c == size.columns() - 1;
  auto row = [&](int b, int part) { return s.columns(4 * s.p + 2 * b + part, s.c, s.n, s.ic); };
  Expr a_re = row(0, 0), a_im = row(0, 1), b_re = row(1, 0), b_im = row(1, 1);
  // One column: conj(A) + i conj(B) on the other side. Two real ones: the first in the real parts.
  Expr re = select(s.side == 0, select(two_columns, a_re, a_re - b_im), select(two_columns, a_im, a_re + b_im));
  Expr im = select(s.side == 0, select(two_columns, b_re, a_im + b_re), select(two_columns, b_im, b_re - a_im));
  s.lines(s.n, s.p, s.c, s.side, s.part, s.ic) = select(s.part == 0, re, im);
}

void transform_rows(InverseSpectrum &s, const SpectrumTile &size) {
  const Line packed = line_of_rows(s, s.lines, size);
  const std::vector<Var> others = {s.p, s.n, s.ic};
  define_line(s.rows, s.at, others,
              fourier_transform(packed, Direction::inverse, keep_levels("row_level", s.at, others, s.row_levels)));
  Expr h = s.q / size.w, w = s.q % size.w;
  s.tile(s.q, s.n, s.ic) = s.rows(2 * w + h % 2, h / 2, s.n, s.ic);
}

} // namespace

InverseSpectrum output_spectrum(const Func &y, const Expr (&extent)[4], const Type &element, const SpectrumTile &size,
                                const Func &spectrum, const Expr &tiles, const TileGrid &grid, const Func &bias,
                                const Expr &bias_extent, const Expr &has_bias) {
  InverseSpectrum s;
  s.y = y;
  transform_columns(s, size, spectrum);
  pack_rows(s, size);
  transform_rows(s, size);

  s.origin(s.n) = Tuple(grid.origin(s.n));
  y(s.ow, s.oh, s.ic, s.image) = undef(element);
  s.r = RDom(0, size.h, 0, size.w, 0, tiles, "r");
  Expr h = s.r.x, w = s.r.y, n = s.r.z;
  Expr image = s.origin(n)[0], oh = s.origin(n)[1] + h, ow = s.origin(n)[2] + w;
  s.r.where(w < grid.step_w && h < grid.step_h && image < extent[3]);
  s.r.where(ow < extent[0] && oh < extent[1]);
  Expr sum = s.tile(h * size.w + w, n, s.ic);
  sum = select(has_bias != 0, sum + cast<float>(bias(min(s.ic, bias_extent - 1))), sum);
  auto within = [&](const Expr &i, int d) { return unsafe_promise_clamped(i, 0, extent[d] - 1); };
  y(within(ow, 0), within(oh, 1), s.ic, within(image, 3)) = cast(element, sum);
  return s;
}

} // namespace hconv
