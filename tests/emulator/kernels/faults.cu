// Kernels that do what a device refuses; each must end as a launch failure with a text, not as a crash.
#include "hconv_target.h"

/// Threads from `first` on skip the barrier and exit.
extern "C" __global__ void exit_before_barrier(int first, float *y) {
  if (int(threadIdx.x) >= first)
    return;
  __syncthreads();
  y[threadIdx.x] = 1;
}
HCONV_REGISTER_KERNEL(exit_before_barrier)

/// Half of each warp waits at the block barrier, half at a warp barrier.
extern "C" __global__ void wait_elsewhere(float *y) {
  if (threadIdx.x % 32 < 16)
    __syncthreads();
  else
    hconv::syncwarp();
  y[threadIdx.x] = 1;
}
HCONV_REGISTER_KERNEL(wait_elsewhere)

/// A matrix product that only some lanes reach, or that lanes reach in different kinds.
extern "C" __global__ void diverge_at_mma(int lanes, int mixed, float *y) {
  float d[4] = {0, 0, 0, 0};
  const unsigned a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
  if (int(threadIdx.x) < lanes)
    hconv::mma_m16n8k16_bf16(d, a, b);
  else if (mixed)
    hconv::mma_m16n8k16_f16(d, a, b);
  y[threadIdx.x] = d[0];
}
HCONV_REGISTER_KERNEL(diverge_at_mma)

/// Thread `who` of block `block` reads x[at], the others x[0].
extern "C" __global__ void read_at(const float *x, int64_t at, int block, int who, float *y) {
  const bool chosen = int(blockIdx.x) == block && int(threadIdx.x) == who;
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[chosen ? at : 0];
}
HCONV_REGISTER_KERNEL(read_at)

extern "C" __global__ void write_at(float *y, int64_t at) {
  y[at] = 3;
}
HCONV_REGISTER_KERNEL(write_at)

extern "C" __global__ void write_shared_at(int at) {
  HCONV_SHARED_MEMORY(shared);
  reinterpret_cast<float *>(shared)[at] = 1;
}
HCONV_REGISTER_KERNEL(write_shared_at)

namespace {
template <typename T> HCONV_DEVICE T load_as(const unsigned char *address) {
  return *reinterpret_cast<const T *>(address);
}
} // namespace

/// Loads of 16 and of 4 bytes from a byte offset, through a helper as the prelude makes them.
extern "C" __global__ void load_vector(const unsigned char *x, int offset, unsigned *y) {
  const uint4 value = load_as<uint4>(x + offset);
  y[0] = value.x;
  y[1] = value.y;
  y[2] = value.z;
  y[3] = value.w;
}
HCONV_REGISTER_KERNEL(load_vector)

extern "C" __global__ void load_word(const unsigned char *x, int offset, unsigned *y) {
  *y = load_as<unsigned>(x + offset);
}
HCONV_REGISTER_KERNEL(load_word)

extern "C" __global__ void divide(int numerator, int denominator, int *y) {
  *y = numerator / denominator;
}
HCONV_REGISTER_KERNEL(divide)

namespace {
__device__ __attribute__((noinline)) int fill_stack(volatile char *above, int depth) {
  volatile char frame[4096];
  frame[0] = above ? above[0] : 1;
  return depth == 0 ? frame[0] : fill_stack(frame, depth - 1) + frame[0];
}
} // namespace

extern "C" __global__ void overflow_stack(int depth, int *y) {
  *y = fill_stack(nullptr, depth);
}
HCONV_REGISTER_KERNEL(overflow_stack)
