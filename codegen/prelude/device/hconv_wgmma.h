/** wgmma on the GPU: sm_90a only, so these are templates that other targets never see used. */
#pragma once

#include <cstdint>

namespace hconv {

HCONV_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/** Before the first wgmma, and after a register that one uses was written. */
HCONV_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

HCONV_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** Waits until at most N of the warpgroup's committed groups are still under way. */
template <int N> HCONV_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/** Waits for all groups; the compiler must not take the sums from the registers before. */
template <int Sums> HCONV_DEVICE void wgmma_wait_all(float *sums) {
  wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < Sums; i++)
    asm volatile("" : "+f"(sums[i])::"memory");
}

#define HCONV_TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define HCONV_30 HCONV_TEN() HCONV_TEN(1) HCONV_TEN(2)
#define HCONV_60 HCONV_30 HCONV_TEN(3) HCONV_TEN(4) HCONV_TEN(5)
#define HCONV_90 HCONV_60 HCONV_TEN(6) HCONV_TEN(7) HCONV_TEN(8)
#define HCONV_120 HCONV_90 HCONV_TEN(9) HCONV_TEN(10) HCONV_TEN(11)

// Register i of a lane: tile i / 4 of 8 columns, row half i / 2 % 2, column i % 2 of a pair.
#define HCONV_SUM(i) "+f"(d[(i) / 4 * Tile + (i) / 2 % 2 * Half + (i) % 2 * Pair])
#define HCONV_SUM4(i) HCONV_SUM(i), HCONV_SUM(i + 1), HCONV_SUM(i + 2), HCONV_SUM(i + 3)
#define HCONV_SUM16(i) HCONV_SUM4(i), HCONV_SUM4(i + 4), HCONV_SUM4(i + 8), HCONV_SUM4(i + 12)

#define HCONV_WGMMA_ASM(n, types, registers, a, b, flags, ...)                                                         \
  if constexpr (N == n)                                                                                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"                                                            \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." types " {" registers "}, " a ", " b                 \
                 ", p, 1, 1, " flags ";\n}"                                                                            \
                 : __VA_ARGS__

// A from registers, or by descriptor; then two of the numbers are not used.
#define HCONV_WGMMA_RS(n, types, registers, a0, a1, a2, a3, b, ...)                                                    \
  HCONV_WGMMA_ASM(n, types, registers, "{" a0 "," a1 "," a2 "," a3 "}", b, "0", __VA_ARGS__)                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_descriptor));
#define HCONV_WGMMA_SS(n, types, registers, a0, a1, a2, a3, b, ...)                                                    \
  HCONV_WGMMA_ASM(n, types, registers, a0, a1, "0, 0", __VA_ARGS__)                                                     \
                 : "l"(a_descriptor), "l"(b_descriptor));

#define HCONV_WGMMA_SIZES(ONE, types)                                                                                  \
  ONE(32, types, HCONV_TEN() "%10,%11,%12,%13,%14,%15", "%16", "%17", "%18", "%19", "%20", HCONV_SUM16(0))             \
  ONE(56, types, HCONV_TEN() HCONV_TEN(1) "%20,%21,%22,%23,%24,%25,%26,%27", "%28", "%29", "%30", "%31", "%32",        \
      HCONV_SUM16(0), HCONV_SUM4(16), HCONV_SUM4(20), HCONV_SUM4(24))                                                  \
  ONE(64, types, HCONV_30 "%30,%31", "%32", "%33", "%34", "%35", "%36", HCONV_SUM16(0), HCONV_SUM16(16))               \
  ONE(96, types, HCONV_30 HCONV_TEN(3) "%40,%41,%42,%43,%44,%45,%46,%47", "%48", "%49", "%50", "%51", "%52",           \
      HCONV_SUM16(0), HCONV_SUM16(16), HCONV_SUM16(32))                                                                \
  ONE(112, types, HCONV_30 HCONV_TEN(3) HCONV_TEN(4) "%50,%51,%52,%53,%54,%55", "%56", "%57", "%58", "%59", "%60",     \
      HCONV_SUM16(0), HCONV_SUM16(16), HCONV_SUM16(32), HCONV_SUM4(48), HCONV_SUM4(52))                                \
  ONE(128, types, HCONV_60 "%60,%61,%62,%63", "%64", "%65", "%66", "%67", "%68", HCONV_SUM16(0), HCONV_SUM16(16),      \
      HCONV_SUM16(32), HCONV_SUM16(48))                                                                                \
  ONE(160, types, HCONV_60 HCONV_TEN(6) "%70,%71,%72,%73,%74,%75,%76,%77,%78,%79", "%80", "%81", "%82", "%83", "%84",  \
      HCONV_SUM16(0), HCONV_SUM16(16), HCONV_SUM16(32), HCONV_SUM16(48), HCONV_SUM16(64))                              \
  ONE(192, types, HCONV_90 "%90,%91,%92,%93,%94,%95", "%96", "%97", "%98", "%99", "%100", HCONV_SUM16(0),              \
      HCONV_SUM16(16), HCONV_SUM16(32), HCONV_SUM16(48), HCONV_SUM16(64), HCONV_SUM16(80))                             \
  ONE(224, types, HCONV_90 HCONV_TEN(9) HCONV_TEN(10) "%110,%111", "%112", "%113", "%114", "%115", "%116",             \
      HCONV_SUM16(0), HCONV_SUM16(16), HCONV_SUM16(32), HCONV_SUM16(48), HCONV_SUM16(64), HCONV_SUM16(80),             \
      HCONV_SUM16(96))                                                                                                 \
  ONE(256, types, HCONV_120 "%120,%121,%122,%123,%124,%125,%126,%127", "%128", "%129", "%130", "%131", "%132",         \
      HCONV_SUM16(0), HCONV_SUM16(16), HCONV_SUM16(32), HCONV_SUM16(48), HCONV_SUM16(64), HCONV_SUM16(80),             \
      HCONV_SUM16(96), HCONV_SUM16(112))

/** D += A B, 64 x N += 64 x 16 x 16 x N, asynchronously: A from registers as of m16n8k16, warp w of the warpgroup
 * having rows 16 w and up, or A[64][16] by descriptor; B[N][16] by descriptor. Neighbouring tiles of 8 columns, halves
 * and pairs are Tile, Half and Pair elements apart in d. */
#define HCONV_WGMMA(name, types)                                                                                       \
  template <int N, int Tile, int Half, int Pair>                                                                       \
  HCONV_DEVICE void name(float *d, const uint32_t *a, uint64_t b_descriptor) {                                         \
    static_assert((N % 32 == 0 && N >= 32 && N <= 256) || N == 56 || N == 112, "N is 56, 112, 32, 64, .. or 256");     \
    HCONV_WGMMA_SIZES(HCONV_WGMMA_RS, types)                                                                           \
  }                                                                                                                    \
  template <int N, int Tile, int Half, int Pair>                                                                       \
  HCONV_DEVICE void name(float *d, uint64_t a_descriptor, uint64_t b_descriptor) {                                     \
    static_assert((N % 32 == 0 && N >= 32 && N <= 256) || N == 56 || N == 112, "N is 56, 112, 32, 64, .. or 256");     \
    HCONV_WGMMA_SIZES(HCONV_WGMMA_SS, types)                                                                           \
  }
HCONV_WGMMA(wgmma_bf16, "bf16.bf16")
HCONV_WGMMA(wgmma_f16, "f16.f16")

#undef HCONV_WGMMA
#undef HCONV_WGMMA_SIZES
#undef HCONV_WGMMA_SS
#undef HCONV_WGMMA_RS
#undef HCONV_WGMMA_ASM
#undef HCONV_SUM16
#undef HCONV_SUM4
#undef HCONV_SUM
#undef HCONV_120
#undef HCONV_90
#undef HCONV_60
#undef HCONV_30
#undef HCONV_TEN

} // namespace hconv
