/** The matrix product of the transform domain as Halide Funcs: what is computed, without any schedule. */
#pragma once

#include "Halide.h"

namespace hconv {

/** The Funcs and Vars of one product of spectra, for a schedule to place.
 *
 * Dimensions are listed innermost first: x(n, c, ic, f), w(oc, c, ic, f), y(n, c, oc, f). Of c, 0 is the real part and
 * 1 the imaginary one. */
struct SpectralProduct {
  Halide::Var n{"n"}, c{"c"}, oc{"oc"}, ic{"ic"}, f{"f"};
  Halide::RDom r;                // r.x over the parts of x, r.y over ICp
  Halide::Func x_tile{"x_tile"}; // x(n, c, ic, f); a schedule may stage it
  Halide::Func w_tile{"w_tile"}; // w(oc, c, ic, f); a schedule may stage it
  Halide::Func acc{"acc"};       // acc(n, c, oc, f), float32 sums
  Halide::Func y{"y"};           // acc
};

/** y[n,.,oc,f] = sum over ic of x[n,.,ic,f] * w[oc,.,ic,f], complex products, summed in float32.
 *
 * The two parts of a complex product are two steps of the reduction, so that each of the four real products is added to
 * its sum by itself: four fused multiply-adds, no separate addition. */
SpectralProduct spectral_product(const Halide::Func &x, const Halide::Func &w, const Halide::Expr &packed_ic);

} // namespace hconv
