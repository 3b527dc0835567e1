// Parts of HCONV_CHECK: numbers of any element type, and what is particular to transform variants.
#pragma once

#include <vector>

#include "hconv/hconv.h"
#include "plan.h"

namespace hconv::runtime {

/// Element i of a tensor of the problem's type.
double element_value(const hconv_problem &problem, const std::vector<char> &bytes, int64_t i);

/// The weights [OC, IC, KH, KW] whose spectra these packed bytes are.
std::vector<double> weights_of_spectra(const hconv_plan &plan, const std::vector<char> &packed);

/// Packed spectra against the transforms of w in float64; padded channels must be zero.
hconv_status compare_spectra(const hconv_plan &plan, const std::vector<char> &w, const std::vector<char> &packed);

/// 2-norms that the error of one output is measured against. They are not finite where there is a NaN or an infinity.
struct Norms {
  double tile, filter;
  double largest; ///< bound of every number that comes up on the way
};

/// The 2-norms of all tiles of x, over all channels, and of all filters.
class TransformNorms {
public:
  TransformNorms() = default;
  TransformNorms(const hconv_plan &plan, const std::vector<char> &x, const std::vector<double> &w);
  Norms of(const hconv_plan &plan, int64_t b, int64_t oc, int64_t oh, int64_t ow) const;

private:
  std::vector<double> tiles_, filters_;
};

} // namespace hconv::runtime
