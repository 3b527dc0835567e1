// The cost model: a device computes wave after wave of blocks, and a wave takes as long as its fullest multiprocessor.
#include <algorithm>
#include <cmath>

#include "dispatch.h"
#include "layout.h"

namespace hconv::runtime {
namespace {

int64_t tiles(int64_t extent, int32_t tile) {
  const int64_t size = std::max(tile, 1);
  return (extent + size - 1) / size;
}

double speed_of(const Variant &v) {
  for (const Speed &s : dispatch_speeds())
    if (holds(s, v))
      return s.speed;
  return 1;
}

} // namespace

bool holds(const Speed &s, const Variant &v) {
  const auto agrees = [](int32_t wanted, int32_t found) { return wanted == 0 || wanted == found; };
  return s.algorithm == v.algorithm && agrees(s.tile_oc, v.tile_oc) && agrees(s.tile_ow, v.tile_ow) &&
         agrees(s.tile_oh, v.tile_oh) && agrees(s.thread_oc, v.thread_oc) && agrees(s.thread_ow, v.thread_ow) &&
         agrees(s.thread_oh, v.thread_oh) && agrees(s.kw, v.kw) && agrees(s.kw_tile, v.kw_tile) &&
         agrees(s.kh_tile, v.kh_tile);
}

Cost cost_of(const Variant &v, const hconv_problem &p, const Machine &machine) {
  const Geometry g = geometry_of(p);
  Cost cost;
  cost.speed = speed_of(v);
  // An empty batch costs as much as one image: something has to be chosen for it too.
  if (!product(&cost.blocks, {std::max<int64_t>(p.batch, 1), tiles(g.output_height, v.tile_oh),
                              tiles(p.out_channels, v.tile_oc), tiles(g.output_width, v.tile_ow)}))
    cost.blocks = INT64_MAX;
  const int64_t blocks_at_once = std::max(v.min_blocks, 1), multiprocessors = std::max(machine.multiprocessors, 1);
  const int64_t wave = multiprocessors * blocks_at_once;
  cost.waves = cost.blocks / wave + (cost.blocks % wave != 0);
  // In the last wave a multiprocessor may hold fewer blocks. They have it to themselves, but hide less of each other's
  // waiting: measured times lie near the geometric mean of those two effects.
  const int64_t full_waves = cost.blocks / wave, rest = cost.blocks % wave;
  const int64_t last = rest / multiprocessors + (rest % multiprocessors != 0);
  const double blocks_in_turn = static_cast<double>(full_waves * blocks_at_once) +
                                std::sqrt(static_cast<double>(last) * static_cast<double>(blocks_at_once));
  // A block computes its whole tile, and every channel and tap of the packed weights, however little of it is wanted.
  const PackedExtents weights = packed_extents(p, v);
  const double outputs = 1.0 * std::max(v.tile_oc, 1) * std::max(v.tile_ow, 1) * std::max(v.tile_oh, 1);
  const double products =
      outputs * static_cast<double>(weights.ic) * static_cast<double>(weights.kh) * static_cast<double>(weights.kw);
  cost.value = blocks_in_turn * products / cost.speed;
  return cost;
}

} // namespace hconv::runtime
