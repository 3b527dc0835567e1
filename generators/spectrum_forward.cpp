#include "spectrum_algorithm.h"

#include "spectrum_lines.h"

using namespace Halide;

namespace hconv {

namespace {

/** Rows 2 p and 2 p + 1 as one complex line each, transformed along W. */
void transform_rows(ForwardSpectrum &s, const SpectrumTile &size) {
  Line packed;
  for (int w = 0; w < size.w; w++)
    packed.push_back({s.tile(2 * s.p * size.w + w, s.n, s.ic), s.tile((2 * s.p + 1) * size.w + w, s.n, s.ic)});
  const std::vector<Var> others = {s.p, s.n, s.ic};
  define_line(s.rows, s.at, others,
              fourier_transform(packed, Direction::forward, keep_levels("row_level", s.at, others, s.row_levels)));
  Expr k2 = select(s.side == 0, (s.c + 1) % size.columns(), size.w - 1 - s.c);
  s.lines(s.n, s.p, s.c, s.side, s.part, s.ic) = s.rows(2 * k2 + s.part, s.p, s.n, s.ic);
}

/** Takes the two rows of each line apart and transforms along H. With Z the line's transform and A, B those of the
 * rows, A(k) = (Z(k) + conj Z(-k)) / 2 and B(k) = (Z(k) - conj Z(-k)) / 2i. At k = 0 and TW/2 both are real: the real
 * and the imaginary part of Z. */
void transform_columns(ForwardSpectrum &s, const SpectrumTile &size) {
  Expr two_columns = s.c == size.columns() - 1;
  const std::vector<Var> others = {s.c, s.n, s.ic};
  Hold hold = keep_levels("column_level", s.at, others, s.column_levels);
  Line both; // sides of each pair
  for (int p = 0; p < size.pairs(); p++)
    for (int side = 0; side < 2; side++)
      both.push_back({s.lines(s.n, p, s.c, side, 0, s.ic), s.lines(s.n, p, s.c, side, 1, s.ic)});
  both = hold(both);
  Line packed;
  for (size_t p = 0; p < both.size(); p += 2) {
    const auto &[re, im] = both[p];
    const auto &[mirror_re, mirror_im] = both[p + 1];
    packed.push_back(
        {select(two_columns, re, 0.5f * (re + mirror_re)), select(two_columns, mirror_re, 0.5f * (im - mirror_im))});
    packed.push_back(
        {select(two_columns, im, 0.5f * (im + mirror_im)), select(two_columns, mirror_im, 0.5f * (mirror_re - re))});
  }
  define_line(s.columns, s.at, others, fourier_transform(hold(packed), Direction::forward, hold));
}

/** A coordinate of an element that a select chooses only where it is inside. */
Expr within(const Expr &i, const Expr &extent, Outside outside) {
  return outside == Outside::read ? clamp(i, 0, extent - 1) : unsafe_promise_clamped(i, 0, extent - 1);
}

void define_transforms(ForwardSpectrum &s, const SpectrumTile &size, float scale_re, float scale_im) {
  transform_rows(s, size);
  transform_columns(s, size);
  define_spectrum(s, s.columns, size, scale_re, scale_im,
                  [&](const Expr &two_columns, const Expr &last, const Expr &j) {
                    return (last && two_columns) || (!last && !two_columns && j < size.h);
                  });
}

} // namespace

std::vector<Expr> TileGrid::origin(const Expr &n) const {
  // Remainders by a product: a division costs some thirty instructions.
  Expr tile = first_tile + n, image = tile / (tiles_h * tiles_w), in_image = tile - image * (tiles_h * tiles_w);
  Expr row = in_image / tiles_w, column = in_image - row * tiles_w;
  return {image, row * step_h, column * step_w};
}

ForwardSpectrum input_spectrum(const Func &spectrum, const SpectrumTile &size, const Func &x, const Expr (&extent)[4],
                               const TileGrid &grid, const Expr &pad_top, const Expr &pad_left, Outside outside) {
  ForwardSpectrum s;
  s.spectrum = spectrum;
  const std::vector<Expr> origin = grid.origin(s.n);
  s.origin(s.n) = {clamp(origin[0], 0, extent[3] - 1), origin[1] - pad_top, origin[2] - pad_left};
  Expr ih = s.origin(s.n)[1] + s.q / size.w, iw = s.origin(s.n)[2] + s.q % size.w;
  // What is the same for all rows comes first.
  Expr inside = iw >= 0 && iw < extent[0] && s.ic < extent[2] && ih >= 0 && ih < extent[1];
  Expr value = x(within(iw, extent[0], outside), within(ih, extent[1], outside), within(s.ic, extent[2], outside),
                 unsafe_promise_clamped(s.origin(s.n)[0], 0, extent[3] - 1));
  s.tile(s.q, s.n, s.ic) = cast<float>(select(inside, value, cast(value.type(), 0)));
  define_transforms(s, size, 1, 1);
  return s;
}

ForwardSpectrum weights_spectrum(const Func &spectrum, const SpectrumTile &size, const Func &w, const Expr (&extent)[4],
                                 Outside outside) {
  ForwardSpectrum s;
  s.spectrum = spectrum;
  Expr kh = s.q / size.w, kw = s.q % size.w;
  Expr inside = kw < extent[0] && s.ic < extent[2] && s.n < extent[3] && kh < extent[1];
  Expr value = w(within(kw, extent[0], outside), within(kh, extent[1], outside), within(s.ic, extent[2], outside),
                 within(s.n, extent[3], outside));
  s.tile(s.q, s.n, s.ic) = cast<float>(select(inside, value, cast(value.type(), 0)));
  const float scale = 1.0f / float(size.h * size.w);
  define_transforms(s, size, scale, -scale);
  return s;
}

} // namespace hconv
