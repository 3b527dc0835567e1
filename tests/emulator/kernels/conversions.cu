// The target header's conversions, for comparing the device's instructions with the host twin's arithmetic.
#include "hconv_target.h"

/// With x the float32 of bits first + i * step, i below n: half[i], bfloat[i], tf32[i].
extern "C" __global__ void convert_floats(unsigned first, unsigned step, int n, uint16_t *half, uint16_t *bfloat,
                                          unsigned *tf32) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const unsigned bits = first + unsigned(i) * step;
  const float x = *reinterpret_cast<const float *>(&bits);
  half[i] = hconv::half_bits(x);
  bfloat[i] = hconv::bfloat16_bits(x);
  tf32[i] = hconv::tf32_bits(x);
}
HCONV_REGISTER_KERNEL(convert_floats)

/// The float32 values of all 65536 patterns of both formats, as bits. One block of 1024 for 1024 patterns.
extern "C" __global__ void widen_all(unsigned *from_half, unsigned *from_bfloat) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float half = hconv::half_value(uint16_t(i)), bfloat = hconv::bfloat16_value(uint16_t(i));
  from_half[i] = *reinterpret_cast<const unsigned *>(&half);
  from_bfloat[i] = *reinterpret_cast<const unsigned *>(&bfloat);
}
HCONV_REGISTER_KERNEL(widen_all)
