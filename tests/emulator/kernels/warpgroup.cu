// wgmma by one warpgroup: A by ldmatrix or by descriptor, B by descriptor; right kernels and ones with a step left out.
#include "hconv_prelude.cuh"

#if defined(HCONV_TWIN) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HCONV_HAS_WGMMA 1
#endif

namespace {

enum class WarpgroupFault {
  none,
  no_fence,          // of registers
  no_proxy_fence,    // between cp.async and wgmma
  no_wait,           // before the sums are read
  no_commit,         // before the wait
  early_overwrite_b, // before the wait
  early_overwrite_a,
  other_descriptor // in one of the warps
};

/// Where A lies that is read by descriptor: in rows of 128 bytes with that swizzle, or in planes of pieces of 16 bytes.
enum class LayoutOfA { swizzled, planar };

constexpr int kGroupA = 10, kPlaneA = 81; // of planar A: pieces from 8 rows to the next 8, and from plane to plane

constexpr int kPitchA = 72; // elements; 64 and a piece

/// d[64][N] = a[64][64] * b[N][64] transposed; both row major, in 16-bit elements. Rows of B are Bytes long in shared
/// memory, and 64 elements take 128 / Bytes of such blocks.
template <WarpgroupFault fault, bool bf16, int N, int Bytes>
HCONV_DEVICE void warpgroup(const uint16_t *a, const uint16_t *b, float *d) {
#ifdef HCONV_HAS_WGMMA
  constexpr int kRow = Bytes / 2, kBlocks = 64 / kRow, kSteps = kRow / 16;
  HCONV_SHARED_MEMORY(shared);
  uint16_t *const b_tile = reinterpret_cast<uint16_t *>(shared), *const a_tile = b_tile + N * 64;
  for (int i = threadIdx.x; i < N * 8; i += 128) { // pieces of 8 elements
    const int row = i / 8, column = i % 8 * 8;
    const int place = column / kRow * (N * kRow) + row * kRow + column % kRow;
    hconv::cp_async16(b_tile + (place ^ place / 64 % (kRow / 8) * 8), b + row * 64 + column, 16);
  }
  hconv::cp_async_commit();
  for (int i = threadIdx.x; i < 64 * 64; i += 128)
    a_tile[i / 64 * kPitchA + i % 64] = a[i];
  hconv::cp_async_wait<0>();
  if (fault != WarpgroupFault::no_proxy_fence)
    hconv::fence_proxy_async();
  __syncthreads();

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sums[N / 2];
  uint32_t fragments[16];
  for (int i = 0; i < N / 2; ++i)
    sums[i] = 0;
  for (int k = 0; k < 4; ++k)
    hconv::load_matrix_x4(fragments + 4 * k, a_tile + (16 * warp + lane % 16) * kPitchA + 16 * k + lane / 16 * 8);
  if (fault != WarpgroupFault::no_fence)
    hconv::wgmma_fence();
  for (int k = 0; k < 4; ++k) {
    const uint16_t *const block = b_tile + k / kSteps * (N * kRow);
    const uint64_t other = fault == WarpgroupFault::other_descriptor && warp == 3 ? 64 : 0;
    const uint64_t descriptor = hconv::matrix_descriptor<Bytes>(block) + uint64_t(k % kSteps * 2) + other;
    static_assert(kBlocks * kSteps == 4, "");
    if (bf16)
      hconv::wgmma_bf16<N, 4, 2, 1>(sums, fragments + 4 * k, descriptor);
    else
      hconv::wgmma_f16<N, 4, 2, 1>(sums, fragments + 4 * k, descriptor);
  }
  if (fault != WarpgroupFault::no_commit)
    hconv::wgmma_commit();
  if (fault == WarpgroupFault::early_overwrite_b)
    b_tile[threadIdx.x] = 0;
  if (fault == WarpgroupFault::early_overwrite_a)
    hconv::load_matrix_x4(fragments, a_tile + (lane % 16) * kPitchA + 16 + lane / 16 * 8);
  if (fault == WarpgroupFault::no_wait || fault == WarpgroupFault::no_commit)
    hconv::wgmma_wait<1>();
  else
    hconv::wgmma_wait_all<N / 2>(sums);
  for (int i = 0; i < N / 2; ++i)
    d[(16 * warp + lane / 4 + i / 2 % 2 * 8) * N + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
  hconv::wgmma_commit();
  hconv::wgmma_wait<0>();
#endif
}

/// The same with A by descriptor; d[64][64].
template <WarpgroupFault fault, bool bf16, LayoutOfA layout>
HCONV_DEVICE void warpgroup_shared(const uint16_t *a, const uint16_t *b, float *d) {
#ifdef HCONV_HAS_WGMMA
  HCONV_SHARED_MEMORY(shared);
  uint16_t *const b_tile = reinterpret_cast<uint16_t *>(shared), *const a_tile = b_tile + 64 * 64;
  for (int i = threadIdx.x; i < 64 * 8; i += 128) { // pieces of 8 elements
    const int row = i / 8, piece = i % 8, swizzled = row * 8 + (piece ^ row % 8);
    const int planar = piece * kPlaneA + row / 8 * kGroupA + row % 8;
    hconv::cp_async16(b_tile + swizzled * 8, b + i * 8, 16);
    hconv::cp_async16(a_tile + (layout == LayoutOfA::planar ? planar : swizzled) * 8, a + i * 8, 16);
  }
  hconv::cp_async_commit();
  hconv::cp_async_wait<0>();
  if (fault != WarpgroupFault::no_proxy_fence)
    hconv::fence_proxy_async();
  __syncthreads();

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float sums[32];
  for (int i = 0; i < 32; ++i)
    sums[i] = 0;
  hconv::wgmma_fence();
  const uint64_t other = fault == WarpgroupFault::other_descriptor && warp == 3 ? 64 : 0;
  const uint64_t of_a =
      other + (layout == LayoutOfA::planar ? hconv::planar_descriptor<kPlaneA * 16, kGroupA * 16>(a_tile)
                                           : hconv::matrix_descriptor<128>(a_tile));
  const uint64_t of_b = hconv::matrix_descriptor<128>(b_tile);
  const int step = layout == LayoutOfA::planar ? 2 * kPlaneA : 2;
  for (int k = 0; k < 4; ++k) {
    if (bf16)
      hconv::wgmma_bf16<64, 4, 2, 1>(sums, of_a + uint64_t(k * step), of_b + uint64_t(k * 2));
    else
      hconv::wgmma_f16<64, 4, 2, 1>(sums, of_a + uint64_t(k * step), of_b + uint64_t(k * 2));
  }
  hconv::wgmma_commit();
  if (fault == WarpgroupFault::early_overwrite_a)
    a_tile[threadIdx.x] = 0;
  hconv::wgmma_wait_all<32>(sums);
  for (int i = 0; i < 32; ++i)
    d[(16 * warp + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
#endif
}

} // namespace

#define KERNEL(name, ...)                                                                                              \
  extern "C" __global__ void __launch_bounds__(128) name(const uint16_t *a, const uint16_t *b, float *d) {             \
    warpgroup<__VA_ARGS__>(a, b, d);                                                                                   \
  }                                                                                                                    \
  HCONV_REGISTER_KERNEL(name)

KERNEL(wgmma_bf16_n64_s128, WarpgroupFault::none, true, 64, 128)
KERNEL(wgmma_bf16_n128_s64, WarpgroupFault::none, true, 128, 64)
KERNEL(wgmma_bf16_n192_s32, WarpgroupFault::none, true, 192, 32)
KERNEL(wgmma_f16_n256_s128, WarpgroupFault::none, false, 256, 128)
KERNEL(wgmma_no_fence, WarpgroupFault::no_fence, true, 64, 128)
KERNEL(wgmma_no_proxy_fence, WarpgroupFault::no_proxy_fence, true, 64, 128)
KERNEL(wgmma_no_wait, WarpgroupFault::no_wait, true, 64, 128)
KERNEL(wgmma_no_commit, WarpgroupFault::no_commit, true, 64, 128)
KERNEL(wgmma_early_overwrite_b, WarpgroupFault::early_overwrite_b, true, 64, 128)
KERNEL(wgmma_early_overwrite_a, WarpgroupFault::early_overwrite_a, true, 64, 128)
KERNEL(wgmma_other_descriptor, WarpgroupFault::other_descriptor, true, 64, 128)

#define SHARED_KERNEL(name, ...)                                                                                       \
  extern "C" __global__ void __launch_bounds__(128) name(const uint16_t *a, const uint16_t *b, float *d) {             \
    warpgroup_shared<__VA_ARGS__>(a, b, d);                                                                            \
  }                                                                                                                    \
  HCONV_REGISTER_KERNEL(name)

SHARED_KERNEL(wgmma_bf16_a_swizzled, WarpgroupFault::none, true, LayoutOfA::swizzled)
SHARED_KERNEL(wgmma_f16_a_planar, WarpgroupFault::none, false, LayoutOfA::planar)
SHARED_KERNEL(wgmma_bf16_a_planar, WarpgroupFault::none, true, LayoutOfA::planar)
SHARED_KERNEL(wgmma_a_no_proxy_fence, WarpgroupFault::no_proxy_fence, true, LayoutOfA::planar)
SHARED_KERNEL(wgmma_a_early_overwrite, WarpgroupFault::early_overwrite_a, true, LayoutOfA::swizzled)
SHARED_KERNEL(wgmma_a_other_descriptor, WarpgroupFault::other_descriptor, true, LayoutOfA::swizzled)
