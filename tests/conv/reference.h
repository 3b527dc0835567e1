/** The convolution written down once more, in float64, and data for it. */
#pragma once

#include "element.h"
#include "shape.h"

#include <vector>

namespace hconv_test {

/** Inputs as float64 values; `bias` is empty when there is none. */
struct Inputs {
  std::vector<double> x, w, bias;
};

/** The equation of hconv.h, literally: taps outside x multiply a 0. Exact for integers below 2^53. */
std::vector<double> convolve(const Shape &shape, const Inputs &inputs);

/** Sum of |x||w| (+ |bias|) over each output's window, the magnitude that rounding errors are measured against. */
std::vector<double> convolve_magnitudes(const Shape &shape, const Inputs &inputs);

/** |tile| * |filter| (+ |bias|) for each output, where a tile of fft_h x fft_w pixels, all channels, gives
 * fft_h - KH + 1 by fft_w - KW + 1 outputs: 2-norms, the magnitude of errors in the transform domain. */
std::vector<double> convolve_norms(const Shape &shape, const Inputs &inputs, int fft_h, int fft_w);

/** Integers small enough that every partial sum, in any order, is exact in float32, and every input in each type. */
Inputs integer_inputs(const Shape &shape, bool with_bias, uint64_t seed = 1);

/** Values of `type` from a unit normal distribution. */
Inputs normal_inputs(const Shape &shape, Element type, bool with_bias, uint64_t seed = 1);

/** integer_inputs and what convolve makes of them; computed once per process and shape. */
struct ExactCase {
  Inputs inputs;
  std::vector<double> y;
};
const ExactCase &exact_case(const Shape &shape, bool with_bias);

/** Bound on |computed - exact| for an output of `type`, whatever the order of summation in float32: gamma_n * magnitude
 * with n the number of roundings, then the rounding of the store. `truncates` is for tensor cores, which align the
 * products of a step and the sum to the largest of them and cut, where float32 arithmetic rounds. */
double error_bound(const Shape &shape, Element type, bool truncates, double exact, double magnitude);

/** The same for an output that was computed in the transform domain, before the store, where `magnitude` is of
 * convolve_norms. Derived in docs/transform.md: 5.6 units for each level of butterflies, in x, in w, and twice on the
 * way back, and for each channel 2 sqrt(2) units, or sqrt(10) where a complex product is made of three real `products`.
 */
double transform_error_bound(const Shape &shape, int fft_h, int fft_w, int products, double magnitude);

} // namespace hconv_test
