#include "product_algorithm.h"

using namespace Halide;

namespace hconv {

SpectralProduct spectral_product(const Func &x, const Func &w, const Expr &packed_ic) {
  SpectralProduct p;
  p.x_tile(p.n, p.c, p.ic, p.f) = x(p.n, p.c, p.ic, p.f);
  p.w_tile(p.oc, p.c, p.ic, p.f) = w(p.oc, p.c, p.ic, p.f);

  p.r = RDom(0, 2, 0, packed_ic, "r");
  // Part of x times part of w: (0, 0) and (1, 1) make the real part, (0, 1) and (1, 0) the imaginary one.
  const Expr part = p.r.x, w_part = select(part == 0, p.c, 1 - p.c);
  const Expr value = p.x_tile(p.n, part, p.r.y, p.f), signed_x = select(part == 1 && p.c == 0, -value, value);
  p.acc(p.n, p.c, p.oc, p.f) = 0.f;
  p.acc(p.n, p.c, p.oc, p.f) += signed_x * p.w_tile(p.oc, w_part, p.r.y, p.f);

  p.y(p.n, p.c, p.oc, p.f) = p.acc(p.n, p.c, p.oc, p.f);
  return p;
}

} // namespace hconv
