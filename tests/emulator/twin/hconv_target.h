// Host twin of the device header: lets a generated CUDA file compile as C++ and run under the emulator.
//
// A CUDA thread is a fiber of the emulator. What a thread knows about itself is behind one thread-local pointer; the
// barrier, the warp collectives and the asynchronous copies are calls into the emulator's engine.
#ifndef HCONV_TARGET_H
#define HCONV_TARGET_H

#include "number_formats.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#define HCONV_TWIN 1
#define HCONV_DEVICE inline __attribute__((always_inline))
#define HCONV_SHARED_MEMORY(name) unsigned char *const name = ::hconv::twin::current->shared
#define HCONV_REGISTER_KERNEL(name)                                                                                    \
  [[maybe_unused]] static const bool hconv_registered_##name = ::hconv::twin::register_kernel(#name, &name);

// Generated files are compiled with traps on misaligned pointers, for the helpers that make wide accesses. A kernel's
// own accesses are of the tensors' element type and need no check; checked, they would run at half the speed.
#define __global__ __attribute__((no_sanitize("alignment")))
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// The vector types that CUDA has built in and the prelude uses.
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

#define threadIdx (::hconv::twin::current->thread_index)
#define blockIdx (::hconv::twin::current->block_index)
#define blockDim (::hconv::twin::current->block_extent)
#define gridDim (::hconv::twin::current->grid_extent)

namespace hconv {
namespace twin {

struct Index3 {
  unsigned x, y, z;
};

/// What one CUDA thread can ask about itself.
struct ThreadState {
  Index3 thread_index, block_index, block_extent, grid_extent;
  unsigned char *shared; ///< the block's dynamic shared memory, 128-byte aligned
};

// __thread and initial-exec: two loads for an index, no call. Null outside a kernel.
extern __thread ThreadState *current __attribute__((tls_model("initial-exec")));

enum class Tile { m16n8k16_bf16, m16n8k16_f16, m16n8k8_tf32 };

// The engine's part. Collectives must be reached by all 32 lanes of a warp; the engine reports it when they are not.
void block_barrier();
void warp_barrier();
void warp_multiply_add(Tile tile, float *d, const unsigned *a, const unsigned *b);
void warp_exchange_quad(unsigned *r);
void warp_transpose_matrix(unsigned *r);
void warp_load_matrices(unsigned *r, const void *row, int matrices, bool transposed);
void async_copy(void *shared, const void *global, int size, int bytes);
void async_commit();
void async_wait(int newest_groups_left);

// Asynchronous matrix products of a warpgroup. A is a lane's registers, or where these are null 64 rows by descriptor.
// `sums` are a lane's: neighbouring tiles of 8 columns, halves (rows g and
// g + 8) and pairs are that many elements apart. Both arrays are used when the product happens, which is anywhere
// between the call and the wait.
struct WarpgroupProduct {
  Tile tile; ///< m16n8k16_bf16 or _f16, many times
  int columns;
  float *sums;
  int next_tile, next_half, next_pair;
  const unsigned *a;
  uint64_t a_descriptor, descriptor;
};
void warpgroup_multiply_add(const WarpgroupProduct &product);
void warpgroup_fence();
void warpgroup_commit();
void warpgroup_wait(int newest_groups_left);
void fence_proxy_async();
unsigned shared_address(const void *p);

using Thunk = void (*)(void (*function)(), void *const *arguments);

struct ArgumentType {
  size_t size;
  bool is_pointer;
};

/// Called by static initialisers. `arguments` must live as long as the program. Always true.
bool register_kernel_entry(const char *name, void (*function)(), Thunk thunk, const ArgumentType *arguments,
                           int argument_count);

template <typename... Arguments> struct KernelType {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...), "kernel arguments are copied as bytes");

  template <size_t... I>
  static void call(void (*kernel)(Arguments...), void *const *arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<Arguments> *>(arguments[I])...);
  }
  static void thunk(void (*function)(), void *const *arguments) {
    call(reinterpret_cast<void (*)(Arguments...)>(function), arguments, std::index_sequence_for<Arguments...>());
  }
};

template <typename... Arguments> bool register_kernel(const char *name, void (*kernel)(Arguments...)) {
  // One element more than there are arguments: an array of none is not C++.
  static const ArgumentType types[] = {{sizeof(Arguments), std::is_pointer_v<Arguments>}..., {0, false}};
  return register_kernel_entry(name, reinterpret_cast<void (*)()>(kernel), &KernelType<Arguments...>::thunk, types,
                               static_cast<int>(sizeof...(Arguments)));
}

} // namespace twin

/// Asynchronous copies to shared memory: `bytes` are copied, the rest up to 16, 8 or 4 is zero filled. The data is
/// there for certain only after the wait; before it, the emulator lets the copy land or not, at random.
inline void cp_async16(void *shared, const void *global, int bytes) {
  twin::async_copy(shared, global, 16, bytes);
}
inline void cp_async8(void *shared, const void *global, int bytes) {
  twin::async_copy(shared, global, 8, bytes);
}
inline void cp_async4(void *shared, const void *global, int bytes) {
  twin::async_copy(shared, global, 4, bytes);
}
inline void cp_async_commit() {
  twin::async_commit();
}
template <int N> inline void cp_async_wait() {
  twin::async_wait(N);
}

inline void syncwarp() {
  twin::warp_barrier();
}

inline void exchange_quad(unsigned (&r)[4]) {
  twin::warp_exchange_quad(r);
}
inline void transpose_matrix(unsigned &r) {
  twin::warp_transpose_matrix(&r);
}

inline void ldmatrix_x4(unsigned (&r)[4], const void *row) {
  twin::warp_load_matrices(r, row, 4, false);
}
inline void ldmatrix_x2(unsigned (&r)[2], const void *row) {
  twin::warp_load_matrices(r, row, 2, false);
}
inline void ldmatrix_x4_trans(unsigned (&r)[4], const void *row) {
  twin::warp_load_matrices(r, row, 4, true);
}
inline void ldmatrix_x2_trans(unsigned (&r)[2], const void *row) {
  twin::warp_load_matrices(r, row, 2, true);
}

inline void mma_m16n8k16_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  twin::warp_multiply_add(twin::Tile::m16n8k16_bf16, d, a, b);
}
inline void mma_m16n8k16_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  twin::warp_multiply_add(twin::Tile::m16n8k16_f16, d, a, b);
}
inline void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  twin::warp_multiply_add(twin::Tile::m16n8k8_tf32, d, a, b);
}

/// As on the device, where shared memory starts 1024 bytes behind address 0.
/// Hides nothing here: what a compiler makes again costs the same in the emulator.
inline uint32_t kept(uint32_t value) {
  return value;
}
inline unsigned shared_address(const void *p) {
  return twin::shared_address(p);
}

inline void fence_proxy_async() {
  twin::fence_proxy_async();
}
inline void wgmma_fence() {
  twin::warpgroup_fence();
}
inline void wgmma_commit() {
  twin::warpgroup_commit();
}
template <int N> inline void wgmma_wait() {
  twin::warpgroup_wait(N);
}
template <int Sums> inline void wgmma_wait_all(float *) {
  twin::warpgroup_wait(0);
}

#define HCONV_WGMMA(name, tile)                                                                                        \
  template <int N, int Next, int Half, int Pair> void name(float *d, const uint32_t *a, uint64_t descriptor) {         \
    twin::warpgroup_multiply_add({tile, N, d, Next, Half, Pair, a, 0, descriptor});                                    \
  }                                                                                                                    \
  template <int N, int Next, int Half, int Pair> void name(float *d, uint64_t a_descriptor, uint64_t descriptor) {     \
    twin::warpgroup_multiply_add({tile, N, d, Next, Half, Pair, nullptr, a_descriptor, descriptor});                   \
  }
HCONV_WGMMA(wgmma_bf16, twin::Tile::m16n8k16_bf16)
HCONV_WGMMA(wgmma_f16, twin::Tile::m16n8k16_f16)
#undef HCONV_WGMMA

} // namespace hconv

inline void __syncthreads() {
  ::hconv::twin::block_barrier();
}

#endif
