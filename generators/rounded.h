/** The last step of the CPU's algorithms. */
#pragma once

#include "Halide.h"

namespace hconv {

/** A float32 sum in the element type. Without F16C, Halide's conversion to float16 makes infinity of a NaN, so its bits
 * are tested first: float comparisons may be taken for granted by the compiler. */
inline Halide::Expr rounded(const Halide::Expr &sum, Halide::Type element) {
  using namespace Halide;
  if (element != Float(16))
    return cast(element, sum);
  Expr magnitude = reinterpret<uint32_t>(sum) & Expr(uint32_t(0x7fffffff));
  Expr is_nan = magnitude > Expr(uint32_t(0x7f800000));
  return select(is_nan, reinterpret(Float(16), cast(UInt(16), 0x7e00)), cast(element, sum));
}

} // namespace hconv
