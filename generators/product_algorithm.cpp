#include "product_algorithm.h"

using namespace Halide;

namespace hconv {

namespace {

/** Channel `ic`'s share of sum p.s. Sums are the real and the imaginary part. */
Expr one_of_four_products(const SpectralProduct &p, const Expr &ic) {
  // Part of x times part of w: (0, 0) and (1, 1) make the real part, (0, 1) and (1, 0) the imaginary one.
  const Expr part = p.r.x, w_part = select(part == 0, p.s, 1 - p.s);
  const Expr x = p.x_tile(p.n, part, ic, p.f), signed_x = select(part == 1 && p.s == 0, -x, x);
  return signed_x * p.w_tile(p.oc, w_part, ic, p.f);
}

/** The same for sums of xr wr, of xi wi, and of (xr + xi) (wr + wi). */
Expr one_of_three_products(const SpectralProduct &p, const Expr &ic) {
  const Expr x[] = {p.x_tile(p.n, 0, ic, p.f), p.x_tile(p.n, 1, ic, p.f)};
  const Expr w[] = {p.w_tile(p.oc, 0, ic, p.f), p.w_tile(p.oc, 1, ic, p.f)};
  auto factor = [&](const Expr(&part)[2]) { return select(p.s == 0, part[0], p.s == 1, part[1], part[0] + part[1]); };
  return factor(x) * factor(w);
}

} // namespace

SpectralProduct spectral_product(const Func &x, const Func &w, const Expr &packed_ic, ComplexProduct form,
                                 int block_ic) {
  const bool four = form == ComplexProduct::four;
  SpectralProduct p;
  p.sums = four ? 2 : 3;
  p.x_tile(p.n, p.c, p.ic, p.f) = x(p.n, p.c, p.ic, p.f);
  p.w_tile(p.oc, p.c, p.ic, p.f) = w(p.oc, p.c, p.ic, p.f);
  auto one_product = [&](const Expr &ic) { return four ? one_of_four_products(p, ic) : one_of_three_products(p, ic); };
  p.acc(p.n, p.s, p.oc, p.f) = 0.f;
  if (block_ic == 0) {
    p.r = RDom(0, four ? 2 : 1, 0, packed_ic, "r");
    p.acc(p.n, p.s, p.oc, p.f) += one_product(p.r.y);
  } else {
    p.r = RDom(0, four ? 2 : 1, 0, block_ic, "r");
    p.blocks = RDom(0, (packed_ic + block_ic - 1) / block_ic, "blocks");
    const Expr ic = p.k * block_ic + p.r.y;
    p.r.where(ic < packed_ic);
    p.part = Func("part");
    p.part(p.n, p.s, p.oc, p.f, p.k) = 0.f;
    p.part(p.n, p.s, p.oc, p.f, p.k) += one_product(unsafe_promise_clamped(ic, 0, packed_ic - 1));
    p.acc(p.n, p.s, p.oc, p.f) += p.part(p.n, p.s, p.oc, p.f, p.blocks);
  }
  auto sum = [&](const Expr &s) { return p.acc(p.n, s, p.oc, p.f); };
  p.y(p.n, p.c, p.oc, p.f) = four ? sum(p.c) : select(p.c == 0, sum(0) - sum(1), (sum(2) - sum(0)) - sum(1));
  return p;
}

} // namespace hconv
