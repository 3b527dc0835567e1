/** The direct convolution for CPUs: the operation of conv2d_algorithm.h, its sum and its rows cut in blocks. */
#pragma once

#include <vector>

#include "conv2d_algorithm.h"

namespace hconv {

/** How BlockedConv2D cuts rows and sums. */
struct ConvBlocks {
  Halide::Expr ow;          // outputs of a row
  std::vector<int> columns; // widths of register tiles: the usual one, then narrower ones for a row's last tile, such
                            // as 6, 4, 2
  Halide::Expr channels;    // input channels of one partial sum, at least 1
};

/** The Funcs and Vars of one blocked convolution, for a schedule to place. Dimensions are listed innermost first.
 *
 *     part(oc, ow, oh, b, k) = sum over the channels of block k and all taps of x_tile * w_tile, in float32
 *     acc(oc, ow, oh, b) = sum over k, in order, of part(oc, ow, oh, b, k)
 *     y(ow, oh, oc, b) = T(acc + bias)
 *
 * Each width of ConvBlocks::columns has an update of acc for the columns that it serves, with its own part, x_tile and
 * w_tile. A row's last tile may reach beyond the row: those columns are computed, but not in y. */
struct BlockedConv2D {
  static constexpr int copied = 8; // columns of x that are copied at once; x_tile must be aligned to them

  struct Columns {
    int width;
    Halide::RDom r;                // of part: x over KW, y over KH, z over a block's channels
    Halide::RDom tiles;            // of acc: x over a tile's columns, y over tiles of a row, z over blocks of channels
    Halide::Func x_tile{"x_tile"}; // x_tile(xw, xh, xc, xb): x as float32, at x's own coordinates, zeros around it
    Halide::Func w_tile{"w_tile"}; // w_tile(wo, wx, wy, wi): packed weights as float32
    Halide::Func part{"part"};
  };

  Halide::Var ow{"ow"}, oh{"oh"}, oc{"oc"}, b{"b"}, k{"k"}; // of y, acc and part
  Halide::Var xw{"xw"}, xh{"xh"}, xc{"xc"}, xb{"xb"};       // of x_tile
  Halide::Var wo{"wo"}, wx{"wx"}, wy{"wy"}, wi{"wi"};       // of w_tile: oc, kw, kh, ic
  std::vector<Columns> columns;                             // acc.update(i) belongs to columns[i]
  Halide::Func acc{"acc"};
  Halide::Func y{"y"};
};

/** Padded channels are not summed: a block ends at in.packed_ic, and x_tile is 0 from IC on. */
BlockedConv2D blocked_conv2d(const DirectConv2DInputs &in, Halide::Type element, const ConvBlocks &blocks);

} // namespace hconv
