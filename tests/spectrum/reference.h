/** Spectra of tiles from the definition of the transform, in float64. */
#pragma once

#include "transforms.h"

#include <complex>

namespace spectrum_test {

using Plane = std::vector<std::complex<double>>; // [h][w], or [k1][k2]

/** sum over h, w of tile[h][w] * exp(sign 2 pi i (k1 h / TH + k2 w / TW)) for all k1, k2; not scaled. */
Plane discrete_fourier_transform(const Plane &tile, int th, int tw, int sign);

struct Frequency {
  int k1, k2;
};

/** The frequencies that are kept, in their order. */
std::vector<Frequency> kept_frequencies(int th, int tw);

/** Relative error, in the norm, that a float32 transform of th x tw points may have: Higham, Accuracy and Stability of
 * Numerical Algorithms (2002), theorem 24.2: each level of butterflies adds at most u + gamma_4 (sqrt 2 + u) with
 * twiddle factors correct to u. Taking real lines apart or putting them together is counted as a level per dimension.
 */
double relative_bound(int th, int tw);

double norm(const Plane &plane);

} // namespace spectrum_test
