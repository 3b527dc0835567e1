// The two tables that dispatch reads: how fast each CUDA tile is, and which CPU target comes first.
#include <iterator>

#include "dispatch.h"

namespace hconv::runtime {
namespace {

constexpr Algorithm direct = Algorithm::direct;
constexpr Algorithm mma = Algorithm::mma;

// Only the ratios count. They are estimates: a tile that loads less for each product is faster, tensor cores are eight
// times as fast. To measure a line, pin its variant (HCONV_VARIANT) on a problem of many full waves and enter the
// products a second of one multiprocessor, relative to the other lines; `hconv explain` shows what follows from it.
// clang-format off
constexpr Speed speeds[] = {
    // algorithm  tile: OC   OW  OH  thread/warp: OC  OW  OH   KW  kw_tile  kh_tile  speed
    {direct,            64, 128, 0,               0,  0,  0,   0,  0,       0,       1.00},
    {direct,            64,  64, 0,               0,  0,  0,   0,  0,       0,       0.95},
    {direct,            32, 128, 0,               0,  0,  0,   0,  0,       0,       0.95},
    {direct,            32,  64, 0,               0,  0,  0,   0,  0,       0,       0.85},
    {direct,            64,  32, 0,               0,  0,  0,   0,  0,       0,       0.85},
    {direct,             0,   0, 0,               0,  0,  0,   0,  0,       0,       1.00}, // other tiles
    {mma,                0,   0, 0,               0,  0,  0,   0,  0,       0,       8.00},
};
// clang-format on

constexpr Preference preferences[] = {
    {Target::cpu_avx512, "the processor has AVX-512"},
    {Target::cpu_avx2, "the processor has AVX2"},
    {Target::cpu_baseline, "any x86-64 processor"},
};

} // namespace

Table<Speed> dispatch_speeds() {
  return {std::begin(speeds), std::end(speeds)};
}
Table<Preference> cpu_preferences() {
  return {std::begin(preferences), std::end(preferences)};
}

} // namespace hconv::runtime
