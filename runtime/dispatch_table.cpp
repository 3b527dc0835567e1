// The tables that dispatch reads: how fast each CUDA tile is, and which CPU target comes first.
#include <iterator>

#include "dispatch.h"

namespace hconv::runtime {
namespace {

constexpr Algorithm direct = Algorithm::direct;
constexpr Algorithm mma = Algorithm::mma;
constexpr Algorithm wgmma = Algorithm::wgmma;

// Products in a unit of time of one multiprocessor, about 1 for the fastest direct kernel (dispatch.h). Measured on one
// H200 over shapes of shapes/perf.txt, each line about the median of (modelled work / measured time) where the tile is
// near the fastest. To measure a line again, pin its variants (bench/compare.py --all-variants); `hconv explain` shows
// what follows from it. Rows for any kernel name no min_blocks. One block of 32 x 64 alone on a multiprocessor is 2.0
// to 2.2 times as slow, and one of 64 x 32 1.6 to 1.8 times, as these speeds say (3 x 3 and 4 x 4 in docs/split.md,
// less 4.5 us of the launch): the roots of 4 and 3 blocks at once (turns_of). Those of their other tiles are what
// registers and shared memory hold, 4 at most. Of the split tile of 32 x 8 x 8 for KH = KW = 3 that is the speed of a
// full device; few blocks reach 0.82.
// clang-format off
constexpr Speed speeds[] = {
    // algorithm  tile: OC   OW  OH  thread/warp: OC  OW  OH   KW  kw_tile  kh_tile  speed  layout  blocks at once
    {direct,            64, 128, 0,               8,  8,  0,   8,  0,       0,       1.02},
    {direct,            64,  64, 0,               8,  8,  0,   8,  0,       0,       0.98},
    {direct,            32,  32, 2,               0,  0,  0,   4,  0,       0,       0.80},
    {direct,            16,  16, 2,               0,  0,  0,   4,  0,       0,       0.46},
    {direct,            64,   8, 8,               0,  0,  0,   3,  0,       0,       0.90},
    {direct,           128,   8, 8,               0,  0,  0,   3,  0,       0,       0.95},
    {direct,            64,  16, 8,               0,  0,  0,   3,  0,       0,       1.00},
    {direct,            64,  28, 4,               0,  0,  0,   3,  0,       0,       0.84},
    {direct,            64,  14, 14,              0,  0,  0,   3,  0,       0,       0.68, 0, 1},
    {direct,            64,  32, 4,               0,  0,  0,   3,  0,       0,       0.84},
    {direct,            64,  32, 4,               0,  0,  0,   5,  0,       5,       1.02},
    {direct,            64,  32, 4,               0,  0,  0,   5,  0,       0,       0.88},
    {direct,            64,   8, 8,               0,  0,  0,   7,  0,       0,       0.98},
    {direct,           128,  32, 4,               0,  0,  0,   1,  0,       0,       0.88},
    {direct,            64,  32, 4,               0,  0,  0,   1,  0,       0,       0.87},
    {direct,            32,   8, 8,               0,  0,  0,   3,  0,       0,       0.86},
    {direct,            32,   8, 8,               0,  0,  0,   1,  0,       0,       0.55},
    {direct,            64, 128, 0,               0,  0,  0,   0,  0,       0,       0.72, 0, 2},
    {direct,            32, 128, 0,               0,  0,  0,   0,  0,       0,       0.66, 0, 4},
    {direct,            64,  64, 0,               0,  0,  0,   0,  0,       0,       0.58, 0, 3},
    {direct,            32,  64, 0,               0,  0,  0,   0,  0,       0,       0.57, 0, 4},
    {direct,            64,  32, 0,               0,  0,  0,   0,  0,       0,       0.53, 0, 3},
    {direct,             0,   0, 0,               0,  0,  0,   0,  0,       0,       0.42}, // other tiles
    {mma,               64, 128, 2,               0,  0,  0,   2,  0,       0,       7.00},
    {mma,               64, 128, 0,               0,  0,  0,   2,  0,       0,       4.90},
    {mma,               32,  32, 2,               0,  0,  0,   4,  0,       0,       2.30},
    {mma,               16,  32, 2,               0,  0,  0,   4,  0,       0,       2.30},
    {mma,               64,   8, 8,               0,  0,  0,   7,  0,       0,       4.10},
    {mma,                0,   0, 0,               0,  0,  0,   0,  0,       0,       2.90}, // other tiles
};

// Of the sums alone. These and the numbers below them were fitted together, to wgmma and NHWC on one H200: 231 times of
// 43 variants on ten shapes, NCHW and NHWC, with stores of either width. A tile has one speed for all of those, and the
// rms error of the model is 8 %. Lines are of the tiles that are rows; times of 1.6 times the best and more were left out.
// Those with KW = 3 and kh_tile = 3, and the first, were fitted to later kernels, with the rest as it was.
constexpr Speed sums[] = {
    // algorithm  tile: OC   OW  OH  thread/warp: OC  OW  OH   KW  kw_tile  kh_tile  speed  layout
    {wgmma,            128, 128, 2,               0,  0,  0,   4,  0,       0,      13.90},
    {wgmma,             64, 128, 2,               0,  0,  0,   4,  0,       0,      11.30},
    {wgmma,             64,  16, 16,              0,  0,  0,   3,  0,       0,       9.20},
    {wgmma,             64,  16, 14,              0,  0,  0,   3,  0,       3,       8.80},
    {wgmma,             64,   8, 28,              0,  0,  0,   3,  0,       3,       9.50},
    {wgmma,            128,   8, 28,              0,  0,  0,   3,  0,       3,      11.20},
    {wgmma,            128,  16, 16,              0,  0,  0,   3,  0,       3,      12.20},
    {wgmma,            128,   8, 8,               0,  0,  0,   3,  0,       0,       6.00},
    {wgmma,            128,  32, 8,               0,  0,  0,   5,  0,       0,      11.40},
    {wgmma,            128,  32, 4,               0,  0,  0,   1,  0,       0,      9.60},
    {wgmma,            256,  32, 4,               0,  0,  0,   1,  0,       0,      10.60},
    {wgmma,              0,   0, 0,               0,  0,  0,   0,  0,       0,       7.00}, // other tiles
    // Estimates from NHWC and from the fastest mma variant of a shape (docs/benchmarks.md); 64 x 8 x 8 from split sums.
    // Shared memory holds 3 of its blocks with kw_tile=3, 65 KB each, also where min_blocks is 4. The one with kw_tile=1
    // is moved from 5.0, which would take 1,512,7,7,1,1 in 4 parts (13.5 us) and not in 8 (11.9).
    {mma,               64,  32, 4,               0,  0,  0,   3,  0,       0,       5.80},
    {mma,              128,  16, 8,               0,  0,  0,   3,  0,       0,       5.70},
    {mma,               64,  16, 8,               0,  0,  0,   3,  0,       0,       5.70},
    {mma,               64,   8, 8,               0,  0,  0,   3,  0,       0,       5.00, 0, 3},
    {mma,               64,   8, 8,               0,  0,  0,   1,  0,       0,       3.30},
    {mma,               64,  32, 4,               0,  0,  0,   5,  0,       0,       6.40},
    {mma,              128,  32, 4,               0,  0,  0,   1,  0,       0,       5.10},
    {mma,               64,  32, 4,               0,  0,  0,   1,  0,       0,       4.70},
    {mma,                0,   0, 0,               0,  0,  0,   0,  0,       0,       4.70, HCONV_LAYOUT_NHWC},
};
constexpr MatrixSpeeds matrices = {4500, 16, 2.0, 1.4, 1.1};
// clang-format on

// clang-format off
constexpr ProductSpeed products[] = {
    // tile: OC   n  thread: OC   n  real products  speed
    {64,         32,          8,  4, 3,             0.87},
    {64,         56,          8,  7, 3,             0.84},
    {64,         16,          8,  4, 3,             0.80},
    {32,         32,          8,  4, 3,             0.78},
    {16,         16,          2,  4, 3,             0.60},
    {0,           0,          0,  0, 3,             0.60}, // other tiles
    {0,           0,          0,  0, 0,             0.80},
};
// clang-format on

// Device memory at 3.8 TB/s and L2 at 6 TB/s over 132 multiprocessors. The shares and latencies of tiles are fitted to
// all transform variants on shapes/perf.txt (docs/benchmarks.md).
constexpr TransformSpeeds transforms = {200, 29, 45, 40e6, 3000};
constexpr TileSpeed tile_lines[] = {
    {16, 16, 0.80, 3500}, {32, 32, 0.66, 6000}, {64, 16, 0.40, 7400}, {64, 64, 0.50, 10000}};
// Fitted with the speeds of the tiles of split rows to 88 times of 4 split variants, 1 to 64 parts of 8 shapes: beside
// what every run takes, 5 us of float32 and 2.4 us of bfloat16, the rms error is 8 % and 11 %.
constexpr SplitSpeeds splits = {2660, 10};
// Measured on one thread of a Zen 4 (docs/cpu.md).
constexpr CpuTransformSpeeds avx512_transforms = {0.80, 0.38, 1.40}, avx2_transforms = {0.80, 0.34, 1.30},
                             baseline_transforms = {1.07, 1.20, 1.10};

constexpr Preference preferences[] = {
    {Target::cpu_avx512, "the processor has AVX-512"},
    {Target::cpu_avx2, "the processor has AVX2"},
    {Target::cpu_baseline, "any x86-64 processor"},
};

} // namespace

Table<Speed> dispatch_speeds() {
  return {std::begin(speeds), std::end(speeds)};
}
Table<Speed> sum_speeds() {
  return {std::begin(sums), std::end(sums)};
}
MatrixSpeeds matrix_speeds() {
  return matrices;
}
Table<ProductSpeed> product_speeds() {
  return {std::begin(products), std::end(products)};
}
TransformSpeeds transform_speeds() {
  return transforms;
}
SplitSpeeds split_speeds() {
  return splits;
}
Table<TileSpeed> tile_speeds() {
  return {std::begin(tile_lines), std::end(tile_lines)};
}
CpuTransformSpeeds cpu_transform_speeds(Target target) {
  return target == Target::cpu_avx512 ? avx512_transforms
         : target == Target::cpu_avx2 ? avx2_transforms
                                      : baseline_transforms;
}
Table<Preference> cpu_preferences() {
  return {std::begin(preferences), std::end(preferences)};
}

} // namespace hconv::runtime
