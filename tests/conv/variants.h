/** The compiled variants that the tests go through: all of them, as the library lists them. */
#pragma once

#include "element.h"
#include "shape.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace hconv_test {

/** One convolution variant of the test device. */
struct Variant {
  std::string name, algorithm, target;
  Element type;
  int tile_oc, tile_ow, tile_oh, ic, kh_tile, kw_tile, kw, fft_h, fft_w; // of the manifest row, 0 where it has none
  hconv_layout layout;                                                   // of x and y, which it reads and writes itself
  bool split;                                                            // its sum is split into parts
  int index; // its place among the variants of its type on this device

  /** Whether it works in the transform domain: then errors are relative to the norms of tile and filter. */
  bool transforms() const { return algorithm == "transform"; }
  /** Whether it can compute `shape`: one made for one KW, or for whole chunks of KH, takes no other, and a transform no
   * kernel larger than its tile. */
  bool takes(const Shape &shape) const {
    return (kw == 0 || shape.KW % kw == 0) && shape.KH % std::max(kh_tile, 1) == 0 &&
           shape.OC == whole_channels(shape.OC) && (!transforms() || (shape.KH <= fft_h && shape.KW <= fft_w));
  }
  /** OC rounded up to what it can write: of NHWC whole 8s. */
  int64_t whole_channels(int64_t OC) const { return layout == HCONV_LAYOUT_NHWC ? (OC + 7) / 8 * 8 : OC; }
  /** About the same outputs with a kernel that it takes: KH rounded up to whole chunks, KW its own, H and W to match,
   * but at least 1; OC as whole_channels has it. */
  Shape fitted(Shape shape) const;
  /** The strictest numerics that it serves: tensor cores are not for HCONV_MATH_STRICT. */
  hconv_math math() const { return algorithm == "direct" ? HCONV_MATH_STRICT : HCONV_MATH_FP32; }
};

std::ostream &operator<<(std::ostream &out, const Variant &variant);

/** Every convolution variant that hconv_list reports for the test device and this processor can run, of any type. */
const std::vector<Variant> &all_variants();

/** Those that add up products, in the order of all_variants: on small integers they are exact. */
const std::vector<Variant> &summing_variants();
/** Those that work in the transform domain. */
const std::vector<Variant> &transform_variants();
/** Those that split their sums into parts. */
std::vector<Variant> split_variants();
/** A kernel that multiplies the spectra of transform variants. */
struct SpectralProduct {
  std::string name, target;
  int products; // real ones of a complex product
};
const std::vector<SpectralProduct> &spectral_products();
/** Real products of the kernel that is named behind the '+' of a plan's variant; throws std::invalid_argument. */
int real_products_of(const std::string &variant);

/** The one of that name, whatever product or number of parts stands behind a '+'; throws std::invalid_argument when it
 * is not among them.
 */
const Variant &variant_named(const std::string &name);

/** Those of 16-bit types that add up products. */
std::vector<Variant> variants_of_16_bits();

/** Without those of NHWC but the first of each algorithm and type: what they compute between x and y is what the ones
 * of NCHW compute. */
std::vector<Variant> without_twins(const std::vector<Variant> &variants);

/** Pins plans made in its lifetime to one variant, by $HCONV_VARIANT: a name, of a transform variant perhaps with '+'
 * and that of a product, of a split one with '+' and the number of parts. Not to be used beside other threads. */
class PinnedVariant {
public:
  explicit PinnedVariant(const std::string &name);
  ~PinnedVariant();
  PinnedVariant(const PinnedVariant &) = delete;
  PinnedVariant &operator=(const PinnedVariant &) = delete;
};

} // namespace hconv_test
