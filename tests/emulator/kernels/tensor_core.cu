// One warp multiplies one tile, with the fragments filled as the PTX ISA's tables say, or by ldmatrix.
#include "hconv_target.h"

namespace {

HCONV_DEVICE unsigned pair(uint16_t low, uint16_t high) {
  return unsigned(low) | unsigned(high) << 16;
}

enum class Type { bf16, f16 };

/// d[16][8] += a[16][16] * b[16][8], all row major.
template <Type type> HCONV_DEVICE void multiply_16_bit(const uint16_t *a, const uint16_t *b, float *d) {
  const int group = threadIdx.x >> 2, in_group = threadIdx.x % 4;
  // A: a0,a1 at (group, 2 in_group + 0,1); a2,a3 eight rows below; a4..a7 the same, eight columns to the right.
  const unsigned fragment_a[4] = {
      pair(a[group * 16 + in_group * 2], a[group * 16 + in_group * 2 + 1]),
      pair(a[(group + 8) * 16 + in_group * 2], a[(group + 8) * 16 + in_group * 2 + 1]),
      pair(a[group * 16 + in_group * 2 + 8], a[group * 16 + in_group * 2 + 9]),
      pair(a[(group + 8) * 16 + in_group * 2 + 8], a[(group + 8) * 16 + in_group * 2 + 9]),
  };
  // B: b0,b1 at rows 2 in_group + 0,1 of column group; b2,b3 eight rows below.
  const unsigned fragment_b[2] = {
      pair(b[(in_group * 2) * 8 + group], b[(in_group * 2 + 1) * 8 + group]),
      pair(b[(in_group * 2 + 8) * 8 + group], b[(in_group * 2 + 9) * 8 + group]),
  };
  float *const upper = d + group * 8 + in_group * 2, *const lower = d + (group + 8) * 8 + in_group * 2;
  float sums[4] = {upper[0], upper[1], lower[0], lower[1]};
  if (type == Type::bf16)
    hconv::mma_m16n8k16_bf16(sums, fragment_a, fragment_b);
  else
    hconv::mma_m16n8k16_f16(sums, fragment_a, fragment_b);
  upper[0] = sums[0];
  upper[1] = sums[1];
  lower[0] = sums[2];
  lower[1] = sums[3];
}

} // namespace

extern "C" __global__ void mma_bf16(const uint16_t *a, const uint16_t *b, float *d) {
  multiply_16_bit<Type::bf16>(a, b, d);
}
HCONV_REGISTER_KERNEL(mma_bf16)

extern "C" __global__ void mma_f16(const uint16_t *a, const uint16_t *b, float *d) {
  multiply_16_bit<Type::f16>(a, b, d);
}
HCONV_REGISTER_KERNEL(mma_f16)

/// d[16][8] += a[16][8] * b[8][8] in TF32; `raw` hands over the float32 bits unrounded.
extern "C" __global__ void mma_tf32(const float *a, const float *b, int raw, float *d) {
  const int group = threadIdx.x >> 2, in_group = threadIdx.x % 4;
  const auto operand = [raw](const float &value) {
    return raw ? *reinterpret_cast<const unsigned *>(&value) : hconv::tf32_bits(value);
  };
  const unsigned fragment_a[4] = {operand(a[group * 8 + in_group]), operand(a[(group + 8) * 8 + in_group]),
                                  operand(a[group * 8 + in_group + 4]), operand(a[(group + 8) * 8 + in_group + 4])};
  const unsigned fragment_b[2] = {operand(b[in_group * 8 + group]), operand(b[(in_group + 4) * 8 + group])};
  float *const upper = d + group * 8 + in_group * 2, *const lower = d + (group + 8) * 8 + in_group * 2;
  float sums[4] = {upper[0], upper[1], lower[0], lower[1]};
  hconv::mma_m16n8k8_tf32(sums, fragment_a, fragment_b);
  upper[0] = sums[0];
  upper[1] = sums[1];
  lower[0] = sums[2];
  lower[1] = sums[3];
}
HCONV_REGISTER_KERNEL(mma_tf32)

/// r[lane][4] = what ldmatrix gives for 4 (or 2) matrices of 8 x 8 that lie one behind the other in shared memory.
extern "C" __global__ void load_matrices(const uint16_t *x, int matrices, int transposed, unsigned *r) {
  HCONV_SHARED_MEMORY(shared);
  uint16_t *const staged = reinterpret_cast<uint16_t *>(shared);
  for (int i = threadIdx.x; i < matrices * 64; i += 32)
    staged[i] = x[i];
  hconv::syncwarp();
  const uint16_t *const row = staged + threadIdx.x % (matrices * 8) * 8;
  unsigned four[4] = {0, 0, 0, 0}, two[2] = {0, 0};
  if (matrices == 4) {
    if (transposed)
      hconv::ldmatrix_x4_trans(four, row);
    else
      hconv::ldmatrix_x4(four, row);
  } else {
    if (transposed)
      hconv::ldmatrix_x2_trans(two, row);
    else
      hconv::ldmatrix_x2(two, row);
    four[0] = two[0];
    four[1] = two[1];
  }
  for (int i = 0; i < 4; ++i)
    r[threadIdx.x * 4 + i] = four[i];
}
HCONV_REGISTER_KERNEL(load_matrices)

/// d[16][8] = a[16][16] * b[16][8] in bf16 with both operands from ldmatrix: a row major, b row major (so transposed).
extern "C" __global__ void mma_bf16_from_shared(const uint16_t *a, const uint16_t *b, float *d) {
  constexpr int kPitchA = 24, kPitchB = 8; // elements; 48 bytes keep ldmatrix's rows in different banks
  HCONV_SHARED_MEMORY(shared);
  uint16_t *const a_tile = reinterpret_cast<uint16_t *>(shared), *const b_tile = a_tile + 16 * kPitchA;
  for (int i = threadIdx.x; i < 256; i += 32)
    a_tile[i / 16 * kPitchA + i % 16] = a[i];
  for (int i = threadIdx.x; i < 128; i += 32)
    b_tile[i / 8 * kPitchB + i % 8] = b[i];
  __syncthreads();
  const int lane = threadIdx.x;
  unsigned fragment_a[4], fragment_b[2];
  hconv::ldmatrix_x4(fragment_a, a_tile + lane % 16 * kPitchA + lane / 16 * 8);
  hconv::ldmatrix_x2_trans(fragment_b, b_tile + lane % 16 * kPitchB);
  float sums[4] = {0, 0, 0, 0};
  hconv::mma_m16n8k16_bf16(sums, fragment_a, fragment_b);
  for (int i = 0; i < 4; ++i)
    d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}
HCONV_REGISTER_KERNEL(mma_bf16_from_shared)

/// ldmatrix from a byte offset of shared memory, to try addresses that are refused.
extern "C" __global__ void load_matrices_at(int offset, unsigned *r) {
  HCONV_SHARED_MEMORY(shared);
  unsigned two[2];
  hconv::ldmatrix_x2(two, shared + offset);
  r[threadIdx.x] = two[0];
}
HCONV_REGISTER_KERNEL(load_matrices_at)

/// r[lane][4] = what exchange_quad makes of x[lane][4].
extern "C" __global__ void exchange_quads(const unsigned *x, unsigned *r) {
  unsigned mine[4];
  for (int i = 0; i < 4; ++i)
    mine[i] = x[threadIdx.x * 4 + i];
  hconv::exchange_quad(mine);
  for (int i = 0; i < 4; ++i)
    r[threadIdx.x * 4 + i] = mine[i];
}
HCONV_REGISTER_KERNEL(exchange_quads)

/// y[8][8] = x[8][8] transposed, by movmatrix.
extern "C" __global__ void transpose_matrix(const unsigned *x, unsigned *y) {
  unsigned mine = x[threadIdx.x];
  hconv::transpose_matrix(mine);
  y[threadIdx.x] = mine;
}
HCONV_REGISTER_KERNEL(transpose_matrix)
