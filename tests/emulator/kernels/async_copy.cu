// cp.async pipelines: a right one, and ones with a missing wait, commit or barrier.
#include "hconv_target.h"

namespace {

enum class Fault { none, no_wait, no_commit, no_barrier_after_wait, no_barrier_before_refill };

/// y[t] = sum over the tiles of the sum of all of a tile's 4-float vectors, plus t; blockDim.x vectors a tile, `Stages`
/// tiles in flight. Every thread reads every vector, so data crosses threads.
template <Fault fault> HCONV_DEVICE void sum_tiles(const float *x, int tiles, float *y) {
  constexpr int kStages = 3;
  HCONV_SHARED_MEMORY(shared);
  const int vectors = blockDim.x;
  const auto stage_of = [&](int tile) { return reinterpret_cast<float *>(shared) + tile % kStages * vectors * 4; };
  const auto fetch = [&](int tile) {
    if (tile < tiles)
      hconv::cp_async16(stage_of(tile) + threadIdx.x * 4, x + (int64_t(tile) * vectors + threadIdx.x) * 4, 16);
    if (fault != Fault::no_commit)
      hconv::cp_async_commit();
  };
  for (int tile = 0; tile < kStages - 1; ++tile)
    fetch(tile);
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (fault != Fault::no_wait)
      hconv::cp_async_wait<kStages - 2>();
    if (fault != Fault::no_barrier_after_wait)
      __syncthreads();
    if (fault == Fault::no_barrier_before_refill)
      fetch(tile + kStages); // into the stage that is read below
    const float *const stage = stage_of(tile);
    for (int i = 0; i < vectors * 4; ++i)
      sum += stage[i];
    if (fault != Fault::no_barrier_before_refill)
      fetch(tile + kStages - 1);
  }
  y[threadIdx.x] = sum + float(threadIdx.x);
}

} // namespace

extern "C" __global__ void sum_tiles_right(const float *x, int tiles, float *y) {
  sum_tiles<Fault::none>(x, tiles, y);
}
HCONV_REGISTER_KERNEL(sum_tiles_right)
extern "C" __global__ void sum_tiles_no_wait(const float *x, int tiles, float *y) {
  sum_tiles<Fault::no_wait>(x, tiles, y);
}
HCONV_REGISTER_KERNEL(sum_tiles_no_wait)
extern "C" __global__ void sum_tiles_no_commit(const float *x, int tiles, float *y) {
  sum_tiles<Fault::no_commit>(x, tiles, y);
}
HCONV_REGISTER_KERNEL(sum_tiles_no_commit)
extern "C" __global__ void sum_tiles_no_barrier(const float *x, int tiles, float *y) {
  sum_tiles<Fault::no_barrier_after_wait>(x, tiles, y);
}
HCONV_REGISTER_KERNEL(sum_tiles_no_barrier)
extern "C" __global__ void sum_tiles_early_refill(const float *x, int tiles, float *y) {
  sum_tiles<Fault::no_barrier_before_refill>(x, tiles, y);
}
HCONV_REGISTER_KERNEL(sum_tiles_early_refill)

/// Copies `bytes` of 16, 8 and 4, the rest zero filled, into y: 7 words a thread.
extern "C" __global__ void copy_partly(const unsigned *x, int bytes16, int bytes8, int bytes4, unsigned *y) {
  HCONV_SHARED_MEMORY(shared);
  unsigned *const mine = reinterpret_cast<unsigned *>(shared) + threadIdx.x * 8;
  hconv::cp_async16(mine, x, bytes16);
  hconv::cp_async8(mine + 4, x + 4, bytes8);
  hconv::cp_async4(mine + 6, x + 6, bytes4);
  hconv::cp_async_commit();
  hconv::cp_async_wait<0>();
  for (int i = 0; i < 7; ++i)
    y[threadIdx.x * 7 + i] = mine[i];
}
HCONV_REGISTER_KERNEL(copy_partly)

/// One copy with a chosen source and destination offset in bytes.
extern "C" __global__ void copy_from_to(const unsigned char *x, int source, int destination) {
  HCONV_SHARED_MEMORY(shared);
  hconv::cp_async16(shared + destination, x + source, 16);
  hconv::cp_async_commit();
  hconv::cp_async_wait<0>();
}
HCONV_REGISTER_KERNEL(copy_from_to)
