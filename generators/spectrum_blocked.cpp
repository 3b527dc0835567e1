#include "spectrum_blocked.h"

#include "spectrum_lines.h"

using namespace Halide;

namespace hconv {

namespace {

// Tells bounds inference what guards ensure and it cannot see.
Expr promised(const Expr &i, const Expr &extent) {
  return unsafe_promise_clamped(i, 0, extent - 1);
}

// A select would load outside of x, so its index would need clamps, which turn vector loads into gathers. Instead whole
// vectors are copied where they lie inside x, and the rest of a row by elements; the guards depend on no vector lane.
void define_tile(BlockedForward &s, const SpectrumBlocks &blocks, const Func &x, const Expr (&extent)[4]) {
  Expr first = s.origin(s.n)[2] / blocks.copied * blocks.copied;
  Expr iw = first + s.u, ih = s.origin(s.n)[1] + s.h, image = s.origin(s.n)[0];
  Expr whole_columns = extent[0] / blocks.copied * blocks.copied;
  s.patch(s.u, s.h, s.n, s.ic) = 0.0f;
  for (bool whole : {true, false}) {
    RDom guard(0, 1, whole ? "whole" : "rest");
    guard.where(s.ic < extent[2] && image < extent[3]);
    guard.where(ih >= 0 && ih < extent[1]);
    // As unsigned, or the simplifier would turn the vector's first column back into each lane's own.
    Expr vector = cast<uint32_t>(first + s.u / blocks.copied * blocks.copied);
    guard.where(whole ? vector < cast<uint32_t>(whole_columns) : iw >= whole_columns && iw < extent[0]);
    s.patch(s.u, s.h, s.n, s.ic) = cast<float>(x(promised(iw + guard, extent[0]), promised(ih, extent[1]),
                                                 promised(s.ic, extent[2]), promised(image, extent[3])));
  }
  Expr n = s.quad * s.q + s.k;
  s.quads(s.k, s.w, s.q, s.h, s.ic) = s.patch(s.w + s.origin(n)[2] % blocks.copied, s.h, n, s.ic);
  s.tile(s.n, s.w, s.h, s.ic) = s.quads(s.n % s.quad, s.w, s.n / s.quad, s.h, s.ic);
}

/** Rows 2 p and 2 p + 1 as one complex line each, transformed along W and taken apart. With Z the line's transform and
 * A, B those of the rows, A(k) = (Z(k) + conj Z(-k)) / 2 and B(k) = (Z(k) - conj Z(-k)) / 2i. At k = 0 and TW/2 both
 * are real: the two columns go on as real and imaginary part of one. */
void transform_rows(BlockedForward &s, const SpectrumTile &size, const SpectrumBlocks &blocks) {
  Line packed;
  for (int w = 0; w < size.w; w++)
    packed.push_back({s.tile(s.n, w, 2 * s.p, s.ic), s.tile(s.n, w, 2 * s.p + 1, s.ic)});
  const std::vector<Var> others = {s.p, s.n, s.ic};
  define_line(s.rows.out, s.at, others,
              fourier_transform(packed, Direction::forward, keep_levels("row_part", s.at, others, s.rows.parts),
                                blocks.levels));
  Line z = line_of(s.rows.out, size_t(size.w), {s.p, s.n, s.ic}), apart;
  for (int c = 0; c < size.columns(); c++) {
    const bool two_columns = c == size.columns() - 1;
    const Complex &one = z[size_t(two_columns ? 0 : c + 1)], &mirror = z[size_t(size.w - 1 - c)];
    if (two_columns) {
      apart.push_back({one.re, mirror.re});
      apart.push_back({one.im, mirror.im});
    } else {
      apart.push_back({0.5f * (one.re + mirror.re), 0.5f * (one.im - mirror.im)});
      apart.push_back({0.5f * (one.im + mirror.im), 0.5f * (mirror.re - one.re)});
    }
  }
  s.lines(s.n, s.p, s.c, s.side, s.part, s.ic) = mux((2 * s.c + s.side) * 2 + s.part, parts_of(apart));
}

void transform_columns(BlockedForward &s, const SpectrumTile &size, const SpectrumBlocks &blocks) {
  Line packed;
  for (int p = 0; p < size.pairs(); p++)
    for (int side = 0; side < 2; side++)
      packed.push_back({s.lines(s.n, p, s.c, side, 0, s.ic), s.lines(s.n, p, s.c, side, 1, s.ic)});
  const std::vector<Var> others = {s.c, s.n, s.ic};
  define_line(s.columns.out, s.at, others,
              fourier_transform(packed, Direction::forward, keep_levels("column_part", s.at, others, s.columns.parts),
                                blocks.levels));
}

void define_transforms(BlockedForward &s, const SpectrumTile &size, const SpectrumBlocks &blocks, float scale_re,
                       float scale_im) {
  transform_rows(s, size, blocks);
  transform_columns(s, size, blocks);
  // Likely: the loop over c is cut there, so that no other c tests for it.
  define_spectrum(s, s.columns.out, size, scale_re, scale_im,
                  [&](const Expr &two_columns, const Expr &last, const Expr &j) {
                    return (two_columns && last) || (!two_columns && likely(!last) && j < size.h);
                  });
}

} // namespace

BlockedForward blocked_input_spectrum(const Func &spectrum, const SpectrumTile &size, const SpectrumBlocks &blocks,
                                      const Func &x, const Expr (&extent)[4], const TileGrid &grid, const Expr &pad_top,
                                      const Expr &pad_left) {
  BlockedForward s;
  s.spectrum = spectrum;
  const std::vector<Expr> origin = grid.origin(s.n);
  s.origin(s.n) = {origin[0], origin[1] - pad_top, origin[2] - pad_left};
  define_tile(s, blocks, x, extent);
  define_transforms(s, size, blocks, 1, 1);
  return s;
}

BlockedForward blocked_weights_spectrum(const Func &spectrum, const SpectrumTile &size, const SpectrumBlocks &blocks,
                                        const Func &w, const Expr (&extent)[4]) {
  BlockedForward s;
  s.spectrum = spectrum;
  s.origin(s.n) = {s.n, 0, 0};
  define_tile(s, blocks, w, extent);
  const float scale = 1.0f / float(size.h * size.w);
  define_transforms(s, size, blocks, scale, -scale);
  return s;
}

} // namespace hconv
