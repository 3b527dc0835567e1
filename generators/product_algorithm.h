/** The matrix product of the transform domain as Halide Funcs: what is computed, without any schedule. */
#pragma once

#include "Halide.h"

namespace hconv {

/** How a complex product is made of real ones. */
enum class ComplexProduct {
  four, // xr wr - xi wi, xr wi + xi wr
  three // with the sums (xr + xi) (wr + wi), xr wr and xi wi: a quarter less to multiply, additions in its place
};

/** The Funcs and Vars of one product of spectra, for a schedule to place.
 *
 * Dimensions are listed innermost first: x(n, c, ic, f), w(oc, c, ic, f), y(n, c, oc, f). Of c, 0 is the real part and
 * 1 the imaginary one. */
struct SpectralProduct {
  Halide::Var n{"n"}, c{"c"}, oc{"oc"}, ic{"ic"}, f{"f"};
  Halide::Var s{"s"};            // of acc: which sum of a complex element
  Halide::Var k{"k"};            // of part
  int sums = 2;                  // extent of s
  Halide::RDom r;                // r.x over the parts of x (one step with three products), r.y over ICp
  Halide::Func x_tile{"x_tile"}; // x(n, c, ic, f); a schedule may stage it
  Halide::Func w_tile{"w_tile"}; // w(oc, c, ic, f); a schedule may stage it
  Halide::Func acc{"acc"};       // acc(n, s, oc, f), float32 sums
  Halide::Func part;             // part(n, s, oc, f, k): those of block k of channels, where sums are kept in blocks
  Halide::RDom blocks;           // over k; r.y then goes over the channels of a block
  Halide::Func y{"y"};           // y(n, c, oc, f)
};

/** y[n,.,oc,f] = sum over ic of x[n,.,ic,f] * w[oc,.,ic,f], complex products, summed in float32.
 *
 * With four products, acc holds real and imaginary part, and each real product is added to its sum by itself: four
 * fused multiply-adds, no separate addition. With three, acc holds the sums of the three real products.
 *
 * block_ic > 0 adds up so many channels in a chain and then the chains' sums, so that errors of long sums stay small.
 */
SpectralProduct spectral_product(const Halide::Func &x, const Halide::Func &w, const Halide::Expr &packed_ic,
                                 ComplexProduct form = ComplexProduct::four, int block_ic = 0);

} // namespace hconv
