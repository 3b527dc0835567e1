/** One prepared convolution on the test device: plan, packed weights and guarded buffers, checked at every run. Packed
 * weights and workspace are aligned to 16 bytes, as hconv.h asks, and to no more. */
#pragma once

#include "device.h"
#include "reference.h"
#include "variants.h"

#include <gtest/gtest.h>
#include <memory>

namespace hconv_test {

/** Displacement in elements of each tensor from an address that is a multiple of 64 bytes; negative: packed against the
 * end of its memory, at whatever address that gives. */
struct Offsets {
  int x = -1, w = -1, bias = -1, y = -1;
  static Offsets all(int elements) { return {elements, elements, elements, elements}; }
};

class Convolution {
public:
  /** Plans `shape` with a variant, in the strictest mode that it serves and in its own layout. Throws Failure. */
  Convolution(const Shape &shape, const Variant &variant)
      : Convolution(shape, variant.type, variant.name, variant.math(), variant.layout) {}
  /** Plans `shape` with the variant of that name, or with the one that the library chooses when it is empty. The
   * weights have the layout of x and y. Throws Failure. */
  Convolution(const Shape &shape, Element type, const std::string &variant, hconv_math math,
              hconv_layout layout = HCONV_LAYOUT_NCHW);
  ~Convolution();
  Convolution(const Convolution &) = delete;
  Convolution &operator=(const Convolution &) = delete;

  const Shape &shape() const { return shape_; }
  /** The workspace from now on: so many bytes instead of hconv_plan_workspace_bytes. */
  void set_workspace(size_t bytes) { workspace_bytes_ = bytes; }
  /** The layout of w from now on: packing takes both. */
  void set_weights_layout(hconv_layout layout) { weights_layout_ = layout; }
  hconv_plan *plan() const { return plan_; }
  std::string variant() const { return hconv_plan_variant(plan_); }

  /** Packs the weights into memory that held NaN. */
  void pack(const Elements &w, Offsets offsets = {});
  /** Runs on the packed weights into an output that held NaN; reports damage beside any buffer as a test failure.
   * `bias` may be empty. Throws Failure. */
  Elements run(const Elements &x, const Elements &bias, Offsets offsets = {});
  /** pack, then run. */
  Elements operator()(const Inputs &inputs, Offsets offsets = {});

private:
  Shape shape_;
  Element type_;
  hconv_layout layout_, weights_layout_;
  hconv_plan *plan_ = nullptr;
  std::unique_ptr<GuardedBuffer> packed_;
  size_t workspace_bytes_ = 0;
};

/** Compares with the exact sums rounded once to the type; NaN matches NaN, and the zeros are equal. Success, or the
 * first wrong element with its indices. */
testing::AssertionResult equals_rounded(const Shape &shape, const Elements &y, const std::vector<double> &exact);

/** Compares the output of the variant of that name, as a plan has it, with float64 values, within the error bound of
 * its algorithm. */
testing::AssertionResult within_bound(const Shape &shape, const std::string &variant, const Elements &y,
                                      const std::vector<double> &exact, const Inputs &inputs);

/** Of integers: equals_rounded for a variant that adds up products, within_bound for one of the transform domain. */
testing::AssertionResult right_on_integers(const Shape &shape, const std::string &variant, const Elements &y,
                                           const std::vector<double> &exact, const Inputs &inputs);

/** Runs one variant on integers, and compares exactly. */
testing::AssertionResult exact_on_integers(const Shape &shape, const Variant &variant, bool with_bias);
/** The same for what the library chooses in a mode; a transform variant within its bound. */
testing::AssertionResult exact_on_integers(const Shape &shape, Element type, hconv_math math, bool with_bias,
                                           hconv_layout layout = HCONV_LAYOUT_NCHW);

} // namespace hconv_test
