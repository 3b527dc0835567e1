// A convolution for a CPU as a generator would have made it, but with a fault: KIND 1 leaves a column out, 2 writes
// beyond y, 3 crashes where y is wide, 4 never ends there. NAME is the variant's.
#include "HalideRuntime.h"

#include <cstdint>

namespace {

float *at(const halide_buffer_t *b, int x, int y, int z, int n) {
  return reinterpret_cast<float *>(b->host) + x * int64_t(b->dim[0].stride) + y * int64_t(b->dim[1].stride) +
         z * int64_t(b->dim[2].stride) + n * int64_t(b->dim[3].stride);
}

} // namespace

extern "C" int NAME(const void *, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *bias, int32_t has_bias,
                    int32_t pad_top, int32_t pad_left, int32_t, halide_buffer_t *y) {
  const auto extent = [](const halide_buffer_t *b, int d) { return b->dim[d].extent; };
  for (int b = 0; b < extent(y, 3); b++)
    for (int oc = 0; oc < extent(y, 2); oc++)
      for (int oh = 0; oh < extent(y, 1); oh++)
        for (int ow = 0; ow < extent(y, 0); ow++) {
          float sum = has_bias ? reinterpret_cast<float *>(bias->host)[oc] : 0.f;
          for (int ic = 0; ic < extent(x, 2); ic++)
            for (int kh = 0; kh < extent(w, 2); kh++)
              for (int kw = 0; kw < extent(w, 1); kw++) {
                const int h = oh + kh - pad_top, v = ow + kw - pad_left;
                if (h >= 0 && h < extent(x, 1) && v >= 0 && v < extent(x, 0))
                  sum += *at(x, v, h, ic, b) * *at(w, oc, kw, kh, ic);
              }
          if (KIND != 1 || ow % 5 != 4)
            *at(y, ow, oh, oc, b) = sum;
        }
  if (KIND == 2)
    *at(y, extent(y, 0), extent(y, 1) - 1, extent(y, 2) - 1, extent(y, 3) - 1) = 0.f;
  if (KIND == 3 && extent(y, 0) > 20)
    *reinterpret_cast<volatile int *>(8) = 0;
  for (volatile int forever = 1; KIND == 4 && extent(y, 0) > 20 && forever;)
    ;
  return 0;
}
