/** The transforms of spectrum_algorithm.h for CPUs: the same tiles, spectra and butterflies, with lines cut so that
 * parts of them stay in registers, and with tiles that are copied row by row instead of pixel by pixel. */
#pragma once

#include "spectrum_algorithm.h"

namespace hconv {

/** How the transforms are cut for one target. */
struct SpectrumBlocks {
  int lanes;  // float32 in a vector: tiles that are transformed at once, and a multiple of quad
  int copied; // pixels of a tile's row that are copied at once
  int levels; // of butterflies between two times that values go through memory: 2^levels complex ones stay in registers

  int whole_rows(const SpectrumTile &size) const { return (size.w + copied - 1) / copied * copied + copied; }
};

/** A line of a transform, cut in parts. */
struct BlockedLine {
  std::vector<Halide::Func> parts; // of all levels but the last, in order, each (at, p or c, n, ic)
  Halide::Func out;                // out(at, p or c, n, ic): 2 * point + part
};

struct BlockedVars : SpectrumVars {
  static constexpr int quad = 4; // float32 that are moved at once when tiles are transposed
  Halide::Var u{"u"}, w{"w"}, h{"h"}, k{"k"};
};

/** x -> patch -> quads -> tile -> rows -> lines -> columns -> spectrum. */
struct BlockedForward : BlockedVars {
  Halide::Func origin{"origin"}; // origin(n): image, first row and first column of a tile's pixels
  Halide::Func patch{"patch"};   // patch(u, h, n, ic): pixels with zeros around them, from a multiple of `copied` on
  Halide::Func quads{"quads"};   // quads(k, w, q, h, ic): of tile 4 q + k, from its first column on
  Halide::Func tile{"tile"};     // tile(n, w, h, ic): the same
  BlockedLine rows;              // of rows 2 p and 2 p + 1 as one complex line
  Halide::Func lines{"lines"};   // lines(n, p, c, side, part, ic): both rows, taken apart: side 0 is row 2 p
  BlockedLine columns;           // of column c, or of the two real ones as one
  Halide::Func spectrum;         // spectrum(n, part, ic, f), undefined where its update does not reach
  Halide::RDom r;                // of the update: frequency of c; 1 for the two columns in one; c
};

/** spectrum -> columns -> lines -> rows -> quads -> y. */
struct BlockedInverse : BlockedVars {
  Halide::Func origin{"origin"}; // origin(n): image, first row and column of a tile's outputs
  BlockedLine columns;
  Halide::Func lines{"lines"}; // lines(n, p, c, side, part, ic): as in InverseSpectrum
  BlockedLine rows;
  Halide::Func quads{"quads"}; // quads(k, n, q, h, ic): column 4 q + k of tile n
  Halide::Func y;              // y(ow, oh, oc, b), undefined where its update does not reach
  // Of the update: column in a quad, quad in a vector, 1 for what is no whole vector, vector, row of a pair, tile in a
  // group, pair, group.
  Halide::RDom r;
};

/** As input_spectrum(), but tiles that are not there are 0. */
BlockedForward blocked_input_spectrum(const Halide::Func &spectrum, const SpectrumTile &size,
                                      const SpectrumBlocks &blocks, const Halide::Func &x,
                                      const Halide::Expr (&extent)[4], const TileGrid &grid,
                                      const Halide::Expr &pad_top, const Halide::Expr &pad_left);

/** As weights_spectrum(). */
BlockedForward blocked_weights_spectrum(const Halide::Func &spectrum, const SpectrumTile &size,
                                        const SpectrumBlocks &blocks, const Halide::Func &w,
                                        const Halide::Expr (&extent)[4]);

/** As output_spectrum(). */
BlockedInverse blocked_output_spectrum(const Halide::Func &y, const Halide::Expr (&extent)[4],
                                       const Halide::Type &element, const SpectrumTile &size,
                                       const SpectrumBlocks &blocks, const Halide::Func &spectrum,
                                       const Halide::Expr &tiles, const TileGrid &grid, const Halide::Func &bias,
                                       const Halide::Expr &bias_extent, const Halide::Expr &has_bias);

} // namespace hconv
