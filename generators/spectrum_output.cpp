/** Generator spectrum_output: Y[F,OCp,2,N], the half spectra of N tiles' sums -> y[B,OC,OH,OW]. */
#include "spectrum_generator.h"

using namespace Halide;

namespace {

class SpectrumOutput : public hconv::SpectrumGenerator<SpectrumOutput> {
public:
  Input<Spectra> spectrum{"spectrum"};
  Input<Buffer1> bias{"bias"};
  Input<int32_t> has_bias{"has_bias"};
  Input<int32_t> step_h{"step_h"}, step_w{"step_w"}, tiles_h{"tiles_h"}, tiles_w{"tiles_w"}, first_tile{"first_tile"};
  Output<Buffer4> y{"y"}; // y(ow, oh, oc, b)

  void configure() {
    bias.set_type(element);
    y.set_type(element);
  }

  void generate() {
    Expr extent[4];
    extents_of(y, extent);
    const hconv::TileGrid grid{step_h, step_w, tiles_h, tiles_w, first_tile};
    from_zero(y);
    bias.dim(0).set_min(0);
    promise_spectrum(spectrum);
    Expr tiles = spectrum.dim(0).extent(), biases = bias.dim(0).extent();
    if (on_gpu()) {
      hconv::InverseSpectrum s =
          hconv::output_spectrum(y, extent, element, size(), spectrum, tiles, grid, bias, biases, has_bias);
      hconv::schedule_spectrum_cuda(s, size());
    } else {
      hconv::BlockedInverse s = hconv::blocked_output_spectrum(y, extent, element, size(), blocks(), spectrum, tiles,
                                                               grid, bias, biases, has_bias);
      hconv::schedule_spectrum_cpu(s, size(), blocks());
    }
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(SpectrumOutput, spectrum_output)
