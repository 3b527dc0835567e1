/** Spelling of Halide's types, constants and names in the generated CUDA. */
#pragma once

#include "Halide.h"
#include <map>
#include <set>
#include <string>

namespace hconv {

/** "float", "hconv::bfloat16", "hconv::vec<float, 4>", ... A type without arithmetic on the GPU is a compile error. */
std::string cuda_type(Halide::Type type);

/** A float constant that reads back exactly, also for infinities and NaN. */
std::string cuda_float(double value, Halide::Type type);

/** Short unique C identifiers for the IR's long names. */
class CudaNames {
public:
  /** The identifier of an IR name; the same name always gives the same identifier. `wish` overrides what it is made
   * from. */
  const std::string &of(const std::string &name, const std::string &wish = "");

private:
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
};

} // namespace hconv
