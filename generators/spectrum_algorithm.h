/** Tiles to half spectra and back, as Halide Funcs without any schedule.
 *
 * A tile has TH x TW real values. Its spectrum has k1 along H and k2 along W; as it is that of real values, half of it
 * is kept, F = TH * TW / 2 + 2 frequencies in this order:
 *
 *     k2 = 1 .. TW/2-1, each with k1 = 0 .. TH-1       f = (k2 - 1) * TH + k1
 *     k2 = 0,           k1 = 0 .. TH/2                 f = TH * (TW/2 - 1) + k1
 *     k2 = TW/2,        k1 = 0 .. TH/2                 f = TH * (TW/2 - 1) + TH/2 + 1 + k1
 *
 * A transform along W takes two rows 2 p and 2 p + 1 as the real and imaginary part of one complex line. A transform
 * along H takes one k2, or 0 and TW/2 together: in each row these two are real. So both take complex lines only:
 *
 *     c = 0 .. TW/2-2 is column k2 = c + 1; c = TW/2-1 is columns 0 and TW/2
 *
 * and `lines` keeps the two k2 that belong to c side by side: side 0 is (c + 1) % (TW/2), side 1 is TW - 1 - c. */
#pragma once

#include "fourier.h"

namespace hconv {

struct SpectrumTile {
  int h, w; // TH, TW

  int pairs() const { return h / 2; }   // of rows
  int columns() const { return w / 2; } // complex lines along H
  int frequencies() const { return h * w / 2 + 2; }
  /** Frequencies of one c: of the last one, which holds two columns, two more than of the others. */
  int most_of_column() const { return h + 2; }
};

/** Where the tiles of an overlap-save convolution lie: tile t is row t / tiles_w % tiles_h and column t % tiles_w of
 * its image, t / (tiles_h * tiles_w). */
struct TileGrid {
  Halide::Expr step_h, step_w;   // outputs of one tile
  Halide::Expr tiles_h, tiles_w; // tiles of one image
  Halide::Expr first_tile;       // tile n is first_tile + n

  /** Of tile n: its image, and the first row and column of its outputs. */
  std::vector<Halide::Expr> origin(const Halide::Expr &n) const;
};

/** Whether the side of a select that is not chosen may be read. CUDA reads only the chosen one; vectors on a CPU read
 * both, so there the coordinates of elements outside are clamped. */
enum class Outside { read, never_read };

/** Dimensions of all Funcs, innermost first. n counts tiles, or output channels of the weights. */
struct SpectrumVars {
  Halide::Var n{"n"}, part{"part"}, ic{"ic"}, f{"f"}; // of a spectrum; part 0 is real, 1 imaginary
  Halide::Var q{"q"};                                 // h * TW + w
  Halide::Var p{"p"}, c{"c"}, side{"side"};
  Halide::Var at{"at"};       // 2 * point + part of a line
  Halide::Var image{"image"}; // of y
  Halide::Var ow{"ow"}, oh{"oh"};
};

/** tile -> rows -> lines -> columns -> spectrum. Levels of the butterflies before rows and columns are in order. */
struct ForwardSpectrum : SpectrumVars {
  Halide::Func origin{"origin"};        // origin(n): image, first row and first column of a tile; undefined for weights
  Halide::Func tile{"tile"};            // tile(q, n, ic)
  std::vector<Halide::Func> row_levels; // each (at, p, n, ic)
  Halide::Func rows{"rows"};            // rows(at, p, n, ic): two rows, transformed along W as one line
  Halide::Func lines{"lines"};          // lines(n, p, c, side, part, ic): the same
  std::vector<Halide::Func> column_levels; // each (at, c, n, ic)
  Halide::Func columns{"columns"};         // columns(at, c, n, ic): transformed along H
  Halide::Func spectrum;                   // spectrum(n, part, ic, f), undefined where its update does not reach
  Halide::RDom r;                          // of the update: frequency of c; 1 for the two columns in one; c
};

/** spectrum -> columns -> lines -> rows -> tile -> y. */
struct InverseSpectrum : SpectrumVars {
  Halide::Func origin{"origin"};           // origin(n): image, first row and first column of a tile's outputs
  std::vector<Halide::Func> column_levels; // each (at, c, n, oc); oc is called ic here
  Halide::Func columns{"columns"};
  Halide::Func lines{"lines"};
  std::vector<Halide::Func> row_levels;
  Halide::Func rows{"rows"};
  Halide::Func tile{"tile"}; // tile(q, n, oc)
  Halide::Func y;            // y(ow, oh, oc, b), undefined where its update does not reach
  Halide::RDom r;            // of the update: h, w, n
};

/** spectrum[f,ic,.,n] = the transform of tile n of x's channel ic, x(w, h, ic, b) with extents W, H, IC, B and zeros
 * around it. Channels from IC on are 0. Tiles that are not there repeat some tile of the last image. */
ForwardSpectrum input_spectrum(const Halide::Func &spectrum, const SpectrumTile &size, const Halide::Func &x,
                               const Halide::Expr (&extent)[4], const TileGrid &grid, const Halide::Expr &pad_top,
                               const Halide::Expr &pad_left, Outside outside);

/** spectrum[f,ic,.,oc] = the conjugate of the transform of w(kw, kh, ic, oc), over TH * TW, so that products with input
 * spectra need no other factor. It is 0 beyond w's extents KW, KH, IC, OC. */
ForwardSpectrum weights_spectrum(const Halide::Func &spectrum, const SpectrumTile &size, const Halide::Func &w,
                                 const Halide::Expr (&extent)[4], Outside outside);

/** Rows and columns of each tile from 0 to step - 1, as far as they lie in y(ow, oh, oc, b) with extents OW, OH, OC, B,
 * plus bias(oc) where has_bias is not 0, rounded once to the element type. `tiles` is the extent of spectrum's n; those
 * of them that are not there are not written. */
InverseSpectrum output_spectrum(const Halide::Func &y, const Halide::Expr (&extent)[4], const Halide::Type &element,
                                const SpectrumTile &size, const Halide::Func &spectrum, const Halide::Expr &tiles,
                                const TileGrid &grid, const Halide::Func &bias, const Halide::Expr &bias_extent,
                                const Halide::Expr &has_bias);

} // namespace hconv
