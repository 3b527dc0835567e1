/** The GPU's side of the prelude: decorations, conversions and instructions that CUDA C++ has no name for. sm_80 and
 * up. */
#pragma once

#include <cstdint>

#define HCONV_DEVICE __device__ __forceinline__
#define HCONV_SHARED_MEMORY(name) extern __shared__ __align__(1024) unsigned char name[]
#define HCONV_REGISTER_KERNEL(name)

namespace hconv {

/** Nearest bfloat16, ties to even; a NaN stays one. */
HCONV_DEVICE uint16_t bfloat16_bits(float value) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

HCONV_DEVICE float bfloat16_value(uint16_t bits) {
  return __uint_as_float(unsigned(bits) << 16);
}

/** Nearest binary16, ties to even; overflow gives infinity, a NaN stays one. */
HCONV_DEVICE uint16_t half_bits(float value) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

HCONV_DEVICE float half_value(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

/** The value itself, to be kept in a register: what made it is hidden, so that nothing makes it again inside a loop. */
HCONV_DEVICE uint32_t kept(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

HCONV_DEVICE unsigned shared_address(const void *p) {
  return unsigned(__cvta_generic_to_shared(p));
}

/** Asynchronous copies from global to shared memory, zero filled from `bytes` on; both sides aligned to the copy's
 * size. */
HCONV_DEVICE void cp_async16(void *shared, const void *global, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}

HCONV_DEVICE void cp_async8(void *shared, const void *global, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}

HCONV_DEVICE void cp_async4(void *shared, const void *global, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}

HCONV_DEVICE void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/** Waits until at most N of the thread's committed groups are still on their way. */
template <int N> HCONV_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

HCONV_DEVICE void syncwarp() {
  __syncwarp();
}

/** Of register i of the four lanes of a quad, lane q gets lane j's r[q] as r[j]. */
HCONV_DEVICE void exchange_quad(unsigned (&r)[4]) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (i & bit)
        continue;
      const unsigned got = __shfl_xor_sync(0xffffffffu, upper ? r[i] : r[i | bit], bit);
      (upper ? r[i] : r[i | bit]) = got;
    }
  }
}

/** Transposes an 8x8 matrix of 16-bit elements, of which lane 4 g + q holds row g, columns 2 q and 2 q + 1. */
HCONV_DEVICE void transpose_matrix(unsigned &r) {
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));
}

/** Loads 8x8 matrices of 16-bit elements: lane l gives the address of row l % 8 of matrix l / 8. Volatile with a memory
 * clobber, so that no barrier is crossed. */
HCONV_DEVICE void ldmatrix_x4(unsigned (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

HCONV_DEVICE void ldmatrix_x2(unsigned (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

HCONV_DEVICE void ldmatrix_x4_trans(unsigned (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

HCONV_DEVICE void ldmatrix_x2_trans(unsigned (&r)[2], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

#define HCONV_MMA_16816(name, types)                                                                                   \
  HCONV_DEVICE void name(float(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2]) {                                 \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." types ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"    \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                           \
  }
HCONV_MMA_16816(mma_m16n8k16_bf16, "bf16.bf16")
HCONV_MMA_16816(mma_m16n8k16_f16, "f16.f16")
#undef HCONV_MMA_16816

HCONV_DEVICE void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/** The nearest TF32, ties away from zero, as float32 bits. */
HCONV_DEVICE uint32_t tf32_bits(float value) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

} // namespace hconv

#include "hconv_wgmma.h"
