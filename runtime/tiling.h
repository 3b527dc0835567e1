// Counts of tiles, for layouts and for dispatch. A tile of 0 or less is one element: variants leave out what they lack.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hconv::runtime {

/// Blocks along the y and z axes of a CUDA grid.
constexpr int64_t grid_y_limit = 65535;

inline int64_t tiles_of(int64_t extent, int64_t tile) {
  tile = std::max<int64_t>(tile, 1);
  return (extent + tile - 1) / tile;
}

/// `extent` in whole tiles.
inline int64_t round_up(int64_t extent, int64_t tile) {
  return tiles_of(extent, tile) * std::max<int64_t>(tile, 1);
}

} // namespace hconv::runtime
