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
  Line packed;
  for (int p = 0; p < size.pairs(); p++) {
    auto z = [&](int side, int part) { return s.lines(s.n, p, s.c, side, part, s.ic); };
    Expr re = z(0, 0), im = z(0, 1), mirror_re = z(1, 0), mirror_im = z(1, 1);
    packed.push_back(
        {select(two_columns, re, 0.5f * (re + mirror_re)), select(two_columns, mirror_re, 0.5f * (im - mirror_im))});
    packed.push_back(
        {select(two_columns, im, 0.5f * (im + mirror_im)), select(two_columns, mirror_im, 0.5f * (mirror_re - re))});
  }
  const std::vector<Var> others = {s.c, s.n, s.ic};
  Hold hold = keep_levels("column_level", s.at, others, s.column_levels);
  define_line(s.columns, s.at, others, fourier_transform(hold(packed), Direction::forward, hold));
}

/** The transform of the two columns in one: those of both, up to TH/2. */
Line split_columns(const Line &both, int th) {
  Line split;
  for (int k = 0; k <= th / 2; k++) {
    const Complex &z = both[size_t(k)], &mirror = both[size_t((th - k) % th)];
    split.push_back({0.5f * (z.re + mirror.re), 0.5f * (z.im - mirror.im)});
  }
  for (int k = 0; k <= th / 2; k++) {
    const Complex &z = both[size_t(k)], &mirror = both[size_t((th - k) % th)];
    split.push_back({0.5f * (z.im + mirror.im), 0.5f * (mirror.re - z.re)});
  }
  return split;
}

/** What one thread's columns give, frequency by frequency, times scale_re in the real and scale_im in the imaginary
 * part. */
void define_spectrum(ForwardSpectrum &s, const SpectrumTile &size, float scale_re, float scale_im) {
  s.spectrum(s.n, s.part, s.ic, s.f) = undef<float>();
  s.r = RDom(0, size.most_of_column(), 0, 2, 0, size.columns(), "r");
  Expr j = s.r.x, two_columns = s.r.y == 1, last = s.r.z == size.columns() - 1;
  s.r.where((last && two_columns) || (!last && !two_columns && j < size.h));
  Line one = line_of(s.columns, size_t(size.h), {s.r.z, s.n, s.ic});
  Line two = split_columns(one, size.h);
  one.resize(two.size(), {0.0f, 0.0f}); // beyond TH: cut off above
  Expr at = 2 * j + s.part;
  Expr value = select(two_columns, mux(at, parts_of(two)), mux(at, parts_of(one)));
  if (scale_re != 1 || scale_im != 1)
    value *= select(s.part == 0, scale_re, scale_im);
  s.spectrum(s.n, s.part, s.ic, s.r.z * size.h + j) = value;
}

void define_transforms(ForwardSpectrum &s, const SpectrumTile &size, float scale_re, float scale_im) {
  transform_rows(s, size);
  transform_columns(s, size);
  define_spectrum(s, size, scale_re, scale_im);
}

} // namespace

ForwardSpectrum input_spectrum(const Func &spectrum, const SpectrumTile &size, const Func &x, const Expr (&extent)[4],
                               const TileGrid &grid, const Expr &pad_top, const Expr &pad_left) {
  ForwardSpectrum s;
  s.spectrum = spectrum;
  Expr t = grid.first_tile + s.n, in_image = t % (grid.tiles_h * grid.tiles_w);
  s.origin(s.n) = {clamp(t / (grid.tiles_h * grid.tiles_w), 0, extent[3] - 1),
                   in_image / grid.tiles_w * grid.step_h - pad_top, in_image % grid.tiles_w * grid.step_w - pad_left};
  Expr ih = s.origin(s.n)[1] + s.q / size.w, iw = s.origin(s.n)[2] + s.q % size.w;
  Expr inside = ih >= 0 && ih < extent[1] && iw >= 0 && iw < extent[0] && s.ic < extent[2];
  Expr value = x(clamp(iw, 0, extent[0] - 1), clamp(ih, 0, extent[1] - 1), min(s.ic, extent[2] - 1),
                 clamp(s.origin(s.n)[0], 0, extent[3] - 1));
  s.tile(s.q, s.n, s.ic) = select(inside, cast<float>(value), 0.0f);
  define_transforms(s, size, 1, 1);
  return s;
}

ForwardSpectrum weights_spectrum(const Func &spectrum, const SpectrumTile &size, const Func &w,
                                 const Expr (&extent)[4]) {
  ForwardSpectrum s;
  s.spectrum = spectrum;
  Expr kh = s.q / size.w, kw = s.q % size.w;
  Expr inside = kh < extent[1] && kw < extent[0] && s.ic < extent[2] && s.n < extent[3];
  Expr value = w(min(kw, extent[0] - 1), min(kh, extent[1] - 1), min(s.ic, extent[2] - 1), min(s.n, extent[3] - 1));
  s.tile(s.q, s.n, s.ic) = select(inside, cast<float>(value), 0.0f);
  const float scale = 1.0f / float(size.h * size.w);
  define_transforms(s, size, scale, -scale);
  return s;
}

} // namespace hconv
