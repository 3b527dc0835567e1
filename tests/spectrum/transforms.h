/** The transforms under test, by whatever way they were compiled. */
#pragma once

#include "../conv/element.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace spectrum_test {

using hconv_test::Element;
using hconv_test::Elements;

/** Extents, innermost first: W, H, channels, images. */
using Extent = std::array<int, 4>;

struct Grid {
  int step_h, step_w, tiles_h, tiles_w, first_tile;
};

/** A buffer of spectra: [f][channel][re, im][n]. */
struct Spectra {
  Spectra(int n, int channels, int frequencies);
  float &at(int n, int part, int channel, int f) {
    return values[((size_t(f) * size_t(channels) + size_t(channel)) * 2 + size_t(part)) * size_t(n_extent) + size_t(n)];
  }
  float at(int n, int part, int channel, int f) const { return const_cast<Spectra *>(this)->at(n, part, channel, f); }

  int n_extent, channels, frequencies;
  std::vector<float> values; // NaN at first
};

/** Transforms of tiles of th x tw points of one element type. */
class Transforms {
public:
  virtual ~Transforms() = default;

  virtual void input(const Elements &x, const Extent &extent, int pad_top, int pad_left, const Grid &grid,
                     Spectra &spectra) = 0;
  virtual void weights(const Elements &w, const Extent &extent, Spectra &spectra) = 0;
  /** No bias when it is null. Elements of y that are not written keep what they had. */
  virtual void output(const Spectra &spectra, const Elements *bias, const Grid &grid, const Extent &extent,
                      Elements &y) = 0;
};

struct Variant {
  std::string name;
  int th, tw;
  Element type;

  int frequencies() const { return th * tw / 2 + 2; }
};

/** What this program was linked with. */
const std::vector<Variant> &variants();
Transforms &transforms_of(const Variant &variant);

} // namespace spectrum_test
