// Kernels without a fault, and racy twins of some of them.
#include "hconv_target.h"

/// y[i] = a * x[i] + i for i < n; a grid of any shape.
extern "C" __global__ void __launch_bounds__(256)
    scale_and_index(const float *__restrict__ x, float a, int64_t n, float *__restrict__ y) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int64_t i = int64_t(block) * (blockDim.x * blockDim.y * blockDim.z) + thread;
  if (i < n)
    y[i] = a * x[i] + float(i);
}
HCONV_REGISTER_KERNEL(scale_and_index)

extern "C" __global__ void no_arguments() {}
HCONV_REGISTER_KERNEL(no_arguments)

namespace {

constexpr int kTile = 16;

/// c[m][n] = a[m][k] * b[k][n] with 16 x 16 tiles in shared memory; all extents are multiples of 16.
template <bool WithBarriers> HCONV_DEVICE void tiled_matmul(const float *a, const float *b, int n, int k, float *c) {
  HCONV_SHARED_MEMORY(shared);
  float *const a_tile = reinterpret_cast<float *>(shared);
  float *const b_tile = a_tile + kTile * kTile;
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += kTile) {
    a_tile[threadIdx.y * kTile + threadIdx.x] = a[row * k + first + threadIdx.x];
    b_tile[threadIdx.y * kTile + threadIdx.x] = b[(first + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i)
      sum += a_tile[threadIdx.y * kTile + i] * b_tile[i * kTile + threadIdx.x];
    if (WithBarriers)
      __syncthreads(); // without it, a fast thread overwrites what a slow one still reads
  }
  c[row * n + column] = sum;
}

} // namespace

extern "C" __global__ void matmul(const float *a, const float *b, int n, int k, float *c) {
  tiled_matmul<true>(a, b, n, k, c);
}
HCONV_REGISTER_KERNEL(matmul)

extern "C" __global__ void matmul_missing_second_barrier(const float *a, const float *b, int n, int k, float *c) {
  tiled_matmul<false>(a, b, n, k, c);
}
HCONV_REGISTER_KERNEL(matmul_missing_second_barrier)

/// y[i] = x[i + 1 modulo the block] through shared memory; the barrier is there only when `barrier` is set.
extern "C" __global__ void rotate(const float *x, int barrier, float *y) {
  HCONV_SHARED_MEMORY(shared);
  float *const staged = reinterpret_cast<float *>(shared);
  staged[threadIdx.x] = x[threadIdx.x];
  if (barrier)
    __syncthreads();
  y[threadIdx.x] = staged[(threadIdx.x + 1) % blockDim.x];
}
HCONV_REGISTER_KERNEL(rotate)

/// The same among the lanes of a warp, with syncwarp. Lanes from `first_exit` on leave before.
extern "C" __global__ void rotate_in_warp(const float *x, int barrier, int first_exit, float *y) {
  HCONV_SHARED_MEMORY(shared);
  float *const staged = reinterpret_cast<float *>(shared);
  const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
  staged[threadIdx.x] = x[threadIdx.x];
  if (lane >= first_exit)
    return;
  if (barrier)
    hconv::syncwarp();
  y[threadIdx.x] = staged[first + (lane + 1) % first_exit];
}
HCONV_REGISTER_KERNEL(rotate_in_warp)

/// Gives what is in shared memory before anything was written.
extern "C" __global__ void read_unwritten_shared(unsigned *y) {
  HCONV_SHARED_MEMORY(shared);
  y[threadIdx.x] = reinterpret_cast<unsigned *>(shared)[threadIdx.x];
}
HCONV_REGISTER_KERNEL(read_unwritten_shared)

/// The order in which threads of a block ran, for looking at the scheduling: order[i] is the i-th thread.
extern "C" __global__ void record_order(int *next, int *order) {
  order[(*next)++] = threadIdx.x;
  __syncthreads();
  order[(*next)++] = threadIdx.x;
}
HCONV_REGISTER_KERNEL(record_order)

/// y = tiny * 0.5f: kept subnormal.
extern "C" __global__ void halve(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x] * 0.5f;
}
HCONV_REGISTER_KERNEL(halve)
