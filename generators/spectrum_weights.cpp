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
    Expr extent[4];
    extents_of(w, extent);
    from_zero(w);
    promise_spectrum(spectrum);
    if (on_gpu()) {
      hconv::ForwardSpectrum s = hconv::weights_spectrum(spectrum, size(), w, extent, hconv::Outside::never_read);
      hconv::schedule_spectrum_cuda(s, size());
    } else {
      hconv::BlockedForward s = hconv::blocked_weights_spectrum(spectrum, size(), blocks(), w, extent);
      hconv::schedule_spectrum_cpu(s, size(), blocks());
    }
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(SpectrumWeights, spectrum_weights)
