// A direct convolution in the manner of the generated ones: what the emulator must run fast.
#include "hconv_target.h"

/// y[b][oc][oh][ow] of a 3 x 3 convolution without padding. Grid: ow tiles of 32, oc tiles of 32, batch * OH; block 8 x
/// 8, a thread owns 4 x 4 outputs. Shared memory: 8 channels of a row of x (34 wide) and of the weights. Weights are
/// [ic][kh][kw][oc], OC a multiple of 32.
extern "C" __global__ void __launch_bounds__(64, 1) conv_3x3(const float *__restrict__ x, const float *__restrict__ w,
                                                             int ic, int h, int width, int oc, float *__restrict__ y) {
  constexpr int kIc = 8, kOc = 32, kOw = 32, kRow = kOw + 2;
  HCONV_SHARED_MEMORY(shared);
  float *const x_tile = reinterpret_cast<float *>(shared);
  float *const w_tile = x_tile + kIc * kRow;
  const int oh_extent = h - 2, ow_extent = width - 2;
  const int b = blockIdx.z / oh_extent, oh = blockIdx.z % oh_extent;
  const int ow0 = blockIdx.x * kOw, oc0 = blockIdx.y * kOc;
  const int thread = threadIdx.y * 8 + threadIdx.x;
  float sums[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      sums[i][j] = 0;
  for (int ic0 = 0; ic0 < ic; ic0 += kIc) {
    for (int kh = 0; kh < 3; ++kh) {
      __syncthreads();
      for (int i = thread; i < kIc * kRow; i += 64) {
        const int channel = ic0 + i / kRow, column = ow0 + i % kRow;
        x_tile[i] =
            channel < ic && column < width ? x[((int64_t(b) * ic + channel) * h + oh + kh) * width + column] : 0;
      }
      for (int i = thread; i < kIc * 3 * kOc; i += 64) {
        const int channel = ic0 + i / (3 * kOc), kw = i / kOc % 3;
        w_tile[i] = channel < ic ? w[((int64_t(channel) * 3 + kh) * 3 + kw) * oc + oc0 + i % kOc] : 0;
      }
      __syncthreads();
      for (int c = 0; c < kIc; ++c)
        for (int kw = 0; kw < 3; ++kw) {
          float from_x[4], from_w[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            from_x[j] = x_tile[c * kRow + threadIdx.x * 4 + j + kw];
            from_w[j] = w_tile[(c * 3 + kw) * kOc + threadIdx.y * 4 + j];
          }
#pragma unroll
          for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
              sums[i][j] += from_w[i] * from_x[j];
        }
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int ow = ow0 + threadIdx.x * 4 + j;
      if (ow < ow_extent)
        y[((int64_t(b) * oc + oc0 + threadIdx.y * 4 + i) * oh_extent + oh) * ow_extent + ow] = sums[i][j];
    }
}
HCONV_REGISTER_KERNEL(conv_3x3)
