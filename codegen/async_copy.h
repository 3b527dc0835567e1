/** async_copy: the asynchronous copies of a producer, one by one. */
#pragma once

#include "kernel_arrays.h"
#include <optional>

namespace hconv {

/** One call of cp_async4 or cp_async16, with all lets and loops around it put in. */
struct AsyncCopy {
  std::string call;
  const Halide::Internal::Load *to = nullptr, *from = nullptr;
  Halide::Expr place, index;        // in them
  std::vector<Halide::Expr> guards; // the copy happens where all of these hold
  std::vector<Halide::Expr> fills;  // and fills with zeros where one of these does not
  int bytes = 0;
};

/** The copies of a producer in order, where it consists of them: in loops of constant extent, under lets and ifs, at
 * most `limit`. `outer` are the lets around it, `ranges` what is known of variables. Nothing if there is anything else,
 * or if data decide an address or a condition. The copies point into `producer`. */
std::optional<std::vector<AsyncCopy>> async_copies_of(const Halide::Internal::Stmt &producer, const Lets &outer,
                                                      const Halide::Internal::Scope<Halide::Internal::Interval> &ranges,
                                                      size_t limit);

} // namespace hconv
