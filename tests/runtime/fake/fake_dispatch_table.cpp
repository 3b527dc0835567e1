// The speeds of the unit tests, in place of the measured ones of runtime/dispatch_table.cpp.
#include <iterator>

#include "runtime/dispatch.h"

namespace hconv::runtime {
namespace {

constexpr Algorithm direct = Algorithm::direct;
constexpr Algorithm mma = Algorithm::mma;
constexpr Algorithm wgmma = Algorithm::wgmma;

// algorithm, tile (OC, OW, OH), thread or warp (OC, OW, OH), KW, kw_tile, kh_tile, speed
constexpr Speed speeds[] = {
    {direct, 64, 128, 0, 0, 0, 0, 0, 0, 0, 1.0}, {direct, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0.9},
    {direct, 32, 128, 0, 0, 0, 0, 0, 0, 0, 0.9}, {direct, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.75},
    {mma, 128, 128, 0, 0, 0, 0, 0, 0, 0, 8.0},   {mma, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4.2},
};

// The same.
constexpr Speed sums[] = {
    {wgmma, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9.0},
};

// tile (OC, n), thread (OC, n), real products, speed
constexpr ProductSpeed products[] = {{64, 64, 0, 0, 0, 0.045}, {0, 0, 0, 0, 0, 0.03}};

// longest, bandwidth, latency
constexpr TileSpeed tile_lines[] = {{16, 16, 1.0, 1000}, {32, 16, 0.8, 2000}, {64, 64, 0.5, 4000}};

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
  return {1000, 10, 2, 1, 0.5};
}
Table<ProductSpeed> product_speeds() {
  return {std::begin(products), std::end(products)};
}
TransformSpeeds transform_speeds() {
  return {100, 20, 40, 1e7, 2000};
}
SplitSpeeds split_speeds() {
  return {2000, 40};
}
Table<TileSpeed> tile_speeds() {
  return {std::begin(tile_lines), std::end(tile_lines)};
}
CpuTransformSpeeds cpu_transform_speeds(Target) {
  return {0.1, 0.1, 1};
}
Table<Preference> cpu_preferences() {
  return {std::begin(preferences), std::end(preferences)};
}

} // namespace hconv::runtime
