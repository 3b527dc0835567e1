/** Pieces of IR, for tests that write a kernel's body by hand; store and barrier are codegen's. */
#pragma once

#include "codegen/kernel_arrays.h"

namespace hconv_test {

/** An int32 variable. */
inline Halide::Expr var(const std::string &name) {
  return Halide::Internal::Variable::make(Halide::Int(32), name);
}

/** A load of float32, as many as the index has lanes. */
inline Halide::Expr load(const std::string &name, const Halide::Expr &index) {
  return hconv::load(Halide::Float(32, index.type().lanes()), name, index);
}

/** A serial loop from min on. */
inline Halide::Internal::Stmt loop(const std::string &name, const Halide::Expr &min, const Halide::Expr &extent,
                                   const Halide::Internal::Stmt &body) {
  return Halide::Internal::For::make(name, min, extent, Halide::Internal::ForType::Serial, Halide::Partition::Auto,
                                     Halide::DeviceAPI::None, body);
}

} // namespace hconv_test
