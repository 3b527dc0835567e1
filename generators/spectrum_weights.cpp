/** Generator spectrum_weights: w[OC,IC,KH,KW] -> W[F,ICp,2,OCp], half spectra, conjugated and over the tile's points.
 */
#include "spectrum_generator.h"

using namespace Halide;

namespace {

class SpectrumWeights : public hconv::SpectrumGenerator<SpectrumWeights> {
public:
  Input<Buffer4> w{"w"}; // w(kw, kh, ic, oc)
  Output<Spectra> spectrum{"spectrum"};

  void configure() { w.set_type(element); }

  void generate() {
    expect_gpu();
    Expr extent[4];
    extents_of(w, extent);
    hconv::ForwardSpectrum s = hconv::weights_spectrum(spectrum, size(), w, extent, hconv::Outside::never_read);
    from_zero(w);
    promise_spectrum(spectrum);
    hconv::schedule_spectrum_cuda(s, size());
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(SpectrumWeights, spectrum_weights)
