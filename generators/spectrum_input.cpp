/** Generator spectrum_input: x[B,IC,H,W] -> X[F,ICp,2,N], the half spectra of N tiles. */
#include "spectrum_generator.h"

using namespace Halide;

namespace {

class SpectrumInput : public hconv::SpectrumGenerator<SpectrumInput> {
public:
  Input<Buffer4> x{"x"}; // x(w, h, ic, b)
  Input<int32_t> pad_top{"pad_top"}, pad_left{"pad_left"};
  Input<int32_t> step_h{"step_h"}, step_w{"step_w"}, tiles_h{"tiles_h"}, tiles_w{"tiles_w"}, first_tile{"first_tile"};
  Output<Spectra> spectrum{"spectrum"};

  void configure() { x.set_type(element); }

  void generate() {
    Expr extent[4];
    extents_of(x, extent);
    const hconv::TileGrid grid{step_h, step_w, tiles_h, tiles_w, first_tile};
    from_zero(x);
    promise_spectrum(spectrum);
    if (on_gpu()) {
      hconv::ForwardSpectrum s =
          hconv::input_spectrum(spectrum, size(), x, extent, grid, pad_top, pad_left, hconv::Outside::never_read);
      hconv::schedule_spectrum_cuda(s, size());
    } else {
      hconv::BlockedForward s =
          hconv::blocked_input_spectrum(spectrum, size(), blocks(), x, extent, grid, pad_top, pad_left);
      hconv::schedule_spectrum_cpu(s, size(), blocks());
    }
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(SpectrumInput, spectrum_input)
