/** What the generated CUDA calls. hconv_target.h, found on the include path, supplies the machine: the GPU, or the CPU
 * that stands in for one in the tests. Everything here is common to both. */
#pragma once

#include "hconv_target.h"
#include <cstdint>
#include <cstring>

namespace hconv {

/** Storage of a bfloat16; all arithmetic happens in float. Conversion from float rounds to nearest even. */
struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  HCONV_DEVICE explicit bfloat16(float value) : bits(bfloat16_bits(value)) {}
  HCONV_DEVICE explicit operator float() const { return bfloat16_value(bits); }
};

/** Storage of an IEEE binary16; conversion from float rounds to nearest even and overflows to infinity. */
struct half {
  uint16_t bits;
  half() = default;
  HCONV_DEVICE explicit half(float value) : bits(half_bits(value)) {}
  HCONV_DEVICE explicit operator float() const { return half_value(bits); }
};

/** N lanes of T, aligned to its size up to 16 bytes. */
template <typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
  T lane[N];

  HCONV_DEVICE static vec broadcast(T value) {
    vec v;
    for (int i = 0; i < N; i++)
      v.lane[i] = value;
    return v;
  }

  HCONV_DEVICE static vec ramp(T base, T stride) {
    vec v;
    for (int i = 0; i < N; i++)
      v.lane[i] = T(base + T(i) * stride);
    return v;
  }

  /** Each lane converted, e.g. float to bfloat16. */
  template <typename From> HCONV_DEVICE static vec convert(const vec<From, N> &from) {
    vec v;
    for (int i = 0; i < N; i++)
      v.lane[i] = T(from.lane[i]);
    return v;
  }
};

#define HCONV_VECTOR_OPERATOR(op, Result)                                                                              \
  template <typename T, int N> HCONV_DEVICE vec<Result, N> operator op(const vec<T, N> &a, const vec<T, N> &b) {       \
    vec<Result, N> v;                                                                                                  \
    for (int i = 0; i < N; i++)                                                                                        \
      v.lane[i] = Result(a.lane[i] op b.lane[i]);                                                                      \
    return v;                                                                                                          \
  }
HCONV_VECTOR_OPERATOR(+, T)
HCONV_VECTOR_OPERATOR(-, T)
HCONV_VECTOR_OPERATOR(*, T)
HCONV_VECTOR_OPERATOR(/, T)
HCONV_VECTOR_OPERATOR(&, T)
HCONV_VECTOR_OPERATOR(|, T)
HCONV_VECTOR_OPERATOR(^, T)
HCONV_VECTOR_OPERATOR(<, bool)
HCONV_VECTOR_OPERATOR(<=, bool)
HCONV_VECTOR_OPERATOR(>, bool)
HCONV_VECTOR_OPERATOR(>=, bool)
HCONV_VECTOR_OPERATOR(==, bool)
HCONV_VECTOR_OPERATOR(!=, bool)
HCONV_VECTOR_OPERATOR(&&, bool)
HCONV_VECTOR_OPERATOR(||, bool)
#undef HCONV_VECTOR_OPERATOR

/** Shifts by counts that are not negative. */
template <typename T, typename C, int N> HCONV_DEVICE vec<T, N> operator<<(const vec<T, N> &a, const vec<C, N> &b) {
  vec<T, N> v;
  for (int i = 0; i < N; i++)
    v.lane[i] = T(a.lane[i] << b.lane[i]);
  return v;
}
template <typename T, typename C, int N> HCONV_DEVICE vec<T, N> operator>>(const vec<T, N> &a, const vec<C, N> &b) {
  vec<T, N> v;
  for (int i = 0; i < N; i++)
    v.lane[i] = T(a.lane[i] >> b.lane[i]);
  return v;
}

template <typename T, int N>
HCONV_DEVICE vec<T, N> select(const vec<bool, N> &c, const vec<T, N> &a, const vec<T, N> &b) {
  vec<T, N> v;
  for (int i = 0; i < N; i++)
    v.lane[i] = c.lane[i] ? a.lane[i] : b.lane[i];
  return v;
}

template <typename T> HCONV_DEVICE T minimum(T a, T b) {
  return b < a ? b : a;
}
template <typename T> HCONV_DEVICE T maximum(T a, T b) {
  return a < b ? b : a;
}

template <typename T, int N> HCONV_DEVICE vec<T, N> minimum(const vec<T, N> &a, const vec<T, N> &b) {
  return select(b < a, b, a);
}

template <typename T, int N> HCONV_DEVICE vec<T, N> maximum(const vec<T, N> &a, const vec<T, N> &b) {
  return select(a < b, b, a);
}

/** Halide's division: rounds so that the remainder is not negative; a / 0 is 0. */
template <typename T> HCONV_DEVICE T floor_div(T a, T b) {
  if (b == 0)
    return 0;
  const T q = T(a / b), r = T(a - q * b);
  return r < 0 ? T(b > 0 ? q - 1 : q + 1) : q;
}

/** Halide's remainder: between 0 and |b| - 1; a % 0 is 0. */
template <typename T> HCONV_DEVICE T floor_mod(T a, T b) {
  if (b == 0)
    return 0;
  const T r = T(a % b);
  return r < 0 ? T(b > 0 ? r + b : r - b) : r;
}

/** Halide's shifts: a negative count shifts the other way. */
template <typename T, typename C> HCONV_DEVICE T shift_left(T a, C count) {
  return count < 0 ? T(a >> -count) : T(a << count);
}
template <typename T, typename C> HCONV_DEVICE T shift_right(T a, C count) {
  return count < 0 ? T(a << -count) : T(a >> count);
}

/** a / b and a % b of numbers that are known not to be negative: unsigned division by a constant is cheaper. */
HCONV_DEVICE int div_nonneg(int a, int b) {
  return int(unsigned(a) / unsigned(b));
}
HCONV_DEVICE int mod_nonneg(int a, int b) {
  return int(unsigned(a) % unsigned(b));
}

/** The float32 with these bits, for constants that have no spelling. */
HCONV_DEVICE float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

template <int Bytes> struct raw_bytes;
template <> struct raw_bytes<2> { using type = uint16_t; };
template <> struct raw_bytes<4> { using type = uint32_t; };
template <> struct raw_bytes<8> { using type = uint2; };
template <> struct raw_bytes<16> { using type = uint4; };

template <typename Vec> struct vec_of;
template <typename T, int N> struct vec_of<vec<T, N>> {
  using element = T;
  static constexpr int lanes = N;
  static constexpr int bytes = sizeof(T) * N;
  using raw = typename raw_bytes<(bytes < 16 ? bytes : 16)>::type;
  static constexpr int pieces = bytes < 16 ? 1 : bytes / 16;
};

template <typename Vec> HCONV_DEVICE Vec load_aligned(const typename vec_of<Vec>::element *p) {
  using V = vec_of<Vec>;
  typename V::raw raw[V::pieces];
  for (int i = 0; i < V::pieces; i++)
    raw[i] = reinterpret_cast<const typename V::raw *>(p)[i];
  Vec v;
  memcpy(&v, raw, sizeof v);
  return v;
}

template <typename T, int N> HCONV_DEVICE void store_aligned(T *p, const vec<T, N> &v) {
  using V = vec_of<vec<T, N>>;
  typename V::raw raw[V::pieces];
  memcpy(raw, &v, sizeof v);
  for (int i = 0; i < V::pieces; i++)
    reinterpret_cast<typename V::raw *>(p)[i] = raw[i];
}

template <typename Vec> HCONV_DEVICE Vec load_strided(const typename vec_of<Vec>::element *p, int stride) {
  Vec v;
  for (int i = 0; i < vec_of<Vec>::lanes; i++)
    v.lane[i] = p[i * stride];
  return v;
}

template <typename T, int N> HCONV_DEVICE void store_strided(T *p, int stride, const vec<T, N> &v) {
  for (int i = 0; i < N; i++)
    p[i * stride] = v.lane[i];
}

/** Dense, of unknown alignment: one wide access where the address allows it. */
template <typename Vec> HCONV_DEVICE Vec load_guarded(const typename vec_of<Vec>::element *p) {
  return reinterpret_cast<uintptr_t>(p) % alignof(Vec) == 0 ? load_aligned<Vec>(p) : load_strided<Vec>(p, 1);
}

template <typename T, int N> HCONV_DEVICE void store_guarded(T *p, const vec<T, N> &v) {
  if (reinterpret_cast<uintptr_t>(p) % alignof(vec<T, N>) == 0)
    store_aligned(p, v);
  else
    store_strided(p, 1, v);
}

/** *p where `condition` holds; then only is it read. Unlike in condition ? x[i] : otherwise, i belongs to no branch. */
template <typename T> HCONV_DEVICE T load_if(bool condition, const T *p, T otherwise) {
  return condition ? *p : otherwise;
}

/** A thread's own array: element by element, so that it stays in registers. */
template <typename Vec> HCONV_DEVICE Vec load_array(const typename vec_of<Vec>::element *p) {
  return load_strided<Vec>(p, 1);
}

template <typename T, int N> HCONV_DEVICE void store_array(T *p, const vec<T, N> &v) {
  store_strided(p, 1, v);
}

template <typename Vec, int N> HCONV_DEVICE Vec gather(const typename vec_of<Vec>::element *p, const vec<int, N> &at) {
  Vec v;
  for (int i = 0; i < N; i++)
    v.lane[i] = p[at.lane[i]];
  return v;
}

template <typename T, int N> HCONV_DEVICE void scatter(T *p, const vec<int, N> &at, const vec<T, N> &v) {
  for (int i = 0; i < N; i++)
    p[at.lane[i]] = v.lane[i];
}

/** Of four tiles of 8x8 elements a lane holds two neighbours each: row g, columns 2 q and 2 q + 1, lane = 4 g + q.
 * Afterwards it holds row g of tile q, 8 neighbours. */
template <typename T> HCONV_DEVICE void exchange(T *values) {
  unsigned r[4];
  memcpy(r, values, sizeof r);
  exchange_quad(r);
  memcpy(values, r, sizeof r);
}

/** As exchange, but afterwards it holds column g of tile q. */
template <typename T> HCONV_DEVICE void transpose_and_exchange(T *values) {
  unsigned r[4];
  memcpy(r, values, sizeof r);
  for (int i = 0; i < 4; i++)
    transpose_matrix(r[i]);
  exchange_quad(r);
  memcpy(values, r, sizeof r);
}

/** Stores 8 16-bit elements by the widest stores that the address allows. */
template <typename T> HCONV_DEVICE void store_row(T *p, const T *values) {
  unsigned r[4];
  memcpy(r, values, sizeof r);
  const uintptr_t place = reinterpret_cast<uintptr_t>(p);
  if (place % 16 == 0) {
    uint4 whole;
    memcpy(&whole, r, sizeof whole);
    *reinterpret_cast<uint4 *>(p) = whole;
  } else if (place % 8 == 0) {
    uint2 half[2];
    memcpy(half, r, sizeof half);
    reinterpret_cast<uint2 *>(p)[0] = half[0];
    reinterpret_cast<uint2 *>(p)[1] = half[1];
  } else if (place % 4 == 0) {
    for (int i = 0; i < 4; i++)
      reinterpret_cast<uint32_t *>(p)[i] = r[i];
  } else {
    p[0] = values[0];
    for (int i = 0; i < 3; i++)
      reinterpret_cast<uint32_t *>(p + 1)[i] = r[i] >> 16 | r[i + 1] << 16;
    p[7] = values[7];
  }
}

/** Stores those of 8 elements whose bit is set in the mask. */
template <typename T> HCONV_DEVICE void store_some(T *p, const T *values, int mask) {
  for (int i = 0; i < 8; i++) {
    if (mask >> i & 1)
      p[i] = values[i];
  }
}

/** ldmatrix into 4 or 2 consecutive registers of a thread's fragment array. */
HCONV_DEVICE void load_matrix_x4(uint32_t *fragment, const void *row) {
  unsigned r[4];
  ldmatrix_x4(r, row);
  for (int i = 0; i < 4; i++)
    fragment[i] = r[i];
}

HCONV_DEVICE void load_matrix_x2(uint32_t *fragment, const void *row) {
  unsigned r[2];
  ldmatrix_x2(r, row);
  for (int i = 0; i < 2; i++)
    fragment[i] = r[i];
}

/** One m16n8k16 product into a lane's four sums: rows g and g + 8 by columns 2 q and 2 q + 1. */
#define HCONV_MMA(name, instruction)                                                                                   \
  HCONV_DEVICE void name(float &d00, float &d01, float &d10, float &d11, const uint32_t *a, const uint32_t *b) {       \
    float d[4] = {d00, d01, d10, d11};                                                                                 \
    const unsigned rows[4] = {a[0], a[1], a[2], a[3]}, columns[2] = {b[0], b[1]};                                      \
    instruction(d, rows, columns);                                                                                     \
    d00 = d[0], d01 = d[1], d10 = d[2], d11 = d[3];                                                                    \
  }
HCONV_MMA(mma_bf16, mma_m16n8k16_bf16)
HCONV_MMA(mma_f16, mma_m16n8k16_f16)
#undef HCONV_MMA

/** The address field of a descriptor of wgmma's, in units of 16 bytes. */
HCONV_DEVICE uint64_t descriptor_address(const void *first) {
  return shared_address(first) >> 4 & 0x3fff;
}

/** The descriptor of a matrix of rows of Bytes bytes, one behind the other in shared memory, in the layout with the
 * swizzle of that size. Every 8 rows start at a multiple of 8 * Bytes; `first` is in row 0 of such 8. */
template <int Bytes> HCONV_DEVICE uint64_t matrix_descriptor(const void *first) {
  static_assert(Bytes == 32 || Bytes == 64 || Bytes == 128, "the swizzles are of 32, 64 and 128 bytes");
  constexpr uint64_t layout = Bytes == 128 ? 1 : Bytes == 64 ? 2 : 3;
  constexpr uint64_t eight_rows = 8 * Bytes / 16;
  return layout << 62 | eight_rows << 32 | 1 << 16 | descriptor_address(first);
}

/** The descriptor of a matrix in planes without a swizzle: pieces of 8 elements, those of 8 neighbouring rows one
 * behind the other; Plane bytes from a piece to the next one of its row, Group bytes from 8 rows to the next 8. */
template <int Plane, int Group> HCONV_DEVICE uint64_t planar_descriptor(const void *first) {
  static_assert(Plane % 16 == 0 && Plane < 1 << 18 && Group % 16 == 0 && Group < 1 << 18, "distances in 16 bytes");
  return uint64_t(Group / 16) << 32 | uint64_t(Plane / 16) << 16 | descriptor_address(first);
}

} // namespace hconv
