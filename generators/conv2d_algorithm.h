/** The direct convolution as Halide Funcs: what is computed, without any schedule. */
#pragma once

#include "Halide.h"
#include <vector>

namespace hconv {

/** The Funcs and Vars of one direct convolution, for a schedule to place.
 *
 * Dimensions are listed innermost first: x(w, h, ic, b), w(oc, kw, kh, ic), y(ow, oh, oc, b). */
struct DirectConv2D {
  Halide::Var ow{"ow"}, oh{"oh"}, oc{"oc"}, b{"b"};   // of y and acc
  Halide::Var s{"s"};                                 // slice of the channels, of y and acc of a split sum
  Halide::Var xw{"xw"}, xh{"xh"}, xc{"xc"}, xb{"xb"}; // of x_tile
  Halide::Var wo{"wo"}, wx{"wx"}, wy{"wy"}, wi{"wi"}; // of w_tile: oc, kw, kh, ic
  Halide::RDom r;                                     // r.x over KW, r.y over KH, r.z over IC (padded)
  Halide::Func x_tile{"x_tile"};                      // x with zeros around it; a schedule may stage it
  Halide::Func w_tile{"w_tile"};                      // packed weights; a schedule may stage them
  Halide::Func acc{"acc"};                            // float32 sums
  Halide::Func y{"y"};                                // acc + bias, rounded once to the element type
  bool split = false;                                 // y(ow, oh, oc, s, b) = acc, the sum over slice s alone

  /** The arguments of y and acc. */
  std::vector<Halide::Var> outputs() const {
    return split ? std::vector<Halide::Var>{ow, oh, oc, s, b} : std::vector<Halide::Var>{ow, oh, oc, b};
  }
};

/** What the algorithm reads. Buffers are 4-D, dense, with minimum 0. */
struct DirectConv2DInputs {
  Halide::Func x;            // x(w, h, ic, b)
  Halide::Expr x_extent[4];  // W, H, IC, B
  Halide::Func w;            // packed weights w(oc, kw, kh, ic), zero beyond OC and IC
  bool whole_chunks = false; // KW is a multiple of the schedule's chunk of taps
  Halide::Expr kw, kh;       // KW, KH, in taps
  Halide::Expr packed_oc;    // extent of w's oc
  Halide::Expr packed_ic;    // extent of w's ic, a multiple of the schedule's ic tile
  Halide::Func bias;         // bias(oc), of the element type
  Halide::Expr bias_extent;  // OC, or 1 when there is no bias
  Halide::Expr has_bias;     // nonzero: add bias
  Halide::Expr pad_top, pad_left;
  Halide::Expr slice_ic; // undefined, or the sum is split: channels of a slice, a multiple of the schedule's ic tile
};

/** How x_tile and w_tile hold their elements. */
enum class Staging {
  element, // as x and w have them, zeros around x by a select
  padded,  // as x and w have them; x holds its zeros itself, and all of packed_ic
  pieces   // channels of x in pieces of 8, whole or not at all: zeros by a select of a piece, around x and from IC on
};

/** y[b,oc,oh,ow] = T(bias[oc] + sum over ic,kh,kw of x[b,ic,oh+kh-pad_top,ow+kw-pad_left] * w[oc,ic,kh,kw]), summed in
 * float32. Both the channels of x and those of w are 0 from IC up to packed_ic, so the padded part of the sum is
 * exactly 0. Taps beyond KW, which a schedule that walks KW in chunks may stage, repeat the last tap and must not be
 * summed.
 *
 * Where in.slice_ic is defined, y[b,s,oc,oh,ow] is the float32 sum over channels s * slice_ic to (s + 1) * slice_ic - 1
 * alone, without bias. */
DirectConv2D direct_conv2d(const DirectConv2DInputs &in, Halide::Type element, Staging staging = Staging::element);

} // namespace hconv
