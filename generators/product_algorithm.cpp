#include "product_algorithm.h"

using namespace Halide;

namespace hconv {

namespace {

/** Sums are the real and the imaginary part. */
void with_four_products(SpectralProduct &p) {
  // Part of x times part of w: (0, 0) and (1, 1) make the real part, (0, 1) and (1, 0) the imaginary one.
  const Expr part = p.r.x, w_part = select(part == 0, p.s, 1 - p.s);
  const Expr x = p.x_tile(p.n, part, p.r.y, p.f), signed_x = select(part == 1 && p.s == 0, -x, x);
  p.acc(p.n, p.s, p.oc, p.f) += signed_x * p.w_tile(p.oc, w_part, p.r.y, p.f);
  p.y(p.n, p.c, p.oc, p.f) = p.acc(p.n, p.c, p.oc, p.f);
}

/** Sums of xr wr, of xi wi, and of (xr + xi) (wr + wi). */
void with_three_products(SpectralProduct &p) {
  p.sums = 3;
  const Expr x[] = {p.x_tile(p.n, 0, p.r.y, p.f), p.x_tile(p.n, 1, p.r.y, p.f)};
  const Expr w[] = {p.w_tile(p.oc, 0, p.r.y, p.f), p.w_tile(p.oc, 1, p.r.y, p.f)};
  auto factor = [&](const Expr(&part)[2]) { return select(p.s == 0, part[0], p.s == 1, part[1], part[0] + part[1]); };
  p.acc(p.n, p.s, p.oc, p.f) += factor(x) * factor(w);
  auto sum = [&](int s) { return p.acc(p.n, s, p.oc, p.f); };
  p.y(p.n, p.c, p.oc, p.f) = select(p.c == 0, sum(0) - sum(1), (sum(2) - sum(0)) - sum(1));
}

} // namespace

SpectralProduct spectral_product(const Func &x, const Func &w, const Expr &packed_ic, ComplexProduct form) {
  SpectralProduct p;
  p.x_tile(p.n, p.c, p.ic, p.f) = x(p.n, p.c, p.ic, p.f);
  p.w_tile(p.oc, p.c, p.ic, p.f) = w(p.oc, p.c, p.ic, p.f);
  p.r = RDom(0, form == ComplexProduct::four ? 2 : 1, 0, packed_ic, "r");
  p.acc(p.n, p.s, p.oc, p.f) = 0.f;
  if (form == ComplexProduct::four)
    with_four_products(p);
  else
    with_three_products(p);
  return p;
}

} // namespace hconv
