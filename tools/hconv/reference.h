#ifndef HCONV_CLI_REFERENCE_H
#define HCONV_CLI_REFERENCE_H

#include "elements.h"

#include <hconv/hconv.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace hconv::cli {

/** How far an output is from the same sums in float64. */
struct Accuracy {
  int64_t outputs = 0;        ///< in the whole tensor
  int64_t checked = 0;        ///< of these, compared
  double relative_l2 = 0;     ///< ||y - reference|| / ||reference|| over the checked ones
  double worst_share = 0;     ///< largest |y - reference| / bound; the answer is right when it is at most 1
  int64_t worst_index = 0;    ///< where, as a flat index into y
  double worst_value = 0;     ///< y there
  double worst_reference = 0; ///< and what it should be
  bool right() const { return worst_share <= 1; }
};

/** Bound on a float32 result's error, relative to the sum of |x*w|, or, where tiles are given, to the norms of the tile
 * and the filter. */
struct PromisedError {
  struct Tiles {
    int64_t height, width;           ///< pixels of x
    int64_t step_height, step_width; ///< outputs
  };
  PromisedError(double relative) : relative(relative) {}
  double relative;
  std::optional<Tiles> tiles;
};

/** Compares y with a float64 reference (x, w and y are host arrays of `type` in C order; no bias). All outputs are
 * compared when that takes at most `budget` multiply-adds; otherwise a fixed pseudo-random sample, first and last
 * included.
 *
 * The bound of one output of n = IC*KH*KW terms: `relative` times the sum of |x*w|, as promised_error has it, plus
 * three smallest subnormals a term; the store adds the roundoff of the type. Of a variant that computes tiles in the
 * transform domain, the product of two 2-norms stands for that sum: of the tile of x, all channels, and of the filter.
 */
Accuracy compare_with_float64(const hconv_problem &problem, Type type, const PromisedError &promise,
                              const std::vector<unsigned char> &x, const std::vector<unsigned char> &w,
                              const std::vector<unsigned char> &y, double budget = 2e8);

/** The library's own bound on the float32 error of the variant that it picks for the problem: it depends on the
 * variant's algorithm, and hconv_explain tells it. Throws Failure. */
PromisedError promised_error(const hconv_problem &problem);

/** `elements` numbers of `type`, uniform in [-1, 1), the same for the same seed on every machine. */
std::vector<unsigned char> random_elements(int64_t elements, Type type, uint32_t seed);

} // namespace hconv::cli
#endif
