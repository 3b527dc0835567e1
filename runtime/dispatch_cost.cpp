// The cost model: a device computes wave after wave of blocks, and a wave takes as long as its fullest multiprocessor.
#include <algorithm>
#include <cmath>

#include "dispatch.h"
#include "layout.h"
#include "split.h"
#include "tiling.h"

namespace hconv::runtime {

namespace {

/// The line of either table that holds for a variant, or null.
const Speed *line_of(const Variant &v) {
  if (const Speed *sums = sum_speed_of(v))
    return sums;
  for (const Speed &s : dispatch_speeds())
    if (holds(s, v))
      return &s;
  return nullptr;
}

} // namespace

double speed_of(const Variant &v) {
  for (const ProductSpeed &s : product_speeds())
    if (v.algorithm == Algorithm::spectral_product && holds(s, v))
      return s.speed;
  const Speed *line = line_of(v);
  return line ? line->speed : 1;
}

int32_t blocks_at_once(const Variant &v) {
  const Speed *line = line_of(v);
  return line && line->at_once != 0 ? line->at_once : v.min_blocks;
}

const Speed *sum_speed_of(const Variant &v) {
  for (const Speed &s : sum_speeds())
    if (holds(s, v))
      return &s;
  return nullptr;
}

bool holds(const Speed &s, const Variant &v) {
  const auto agrees = [](int32_t wanted, int32_t found) { return wanted == 0 || wanted == found; };
  return s.algorithm == v.algorithm && agrees(s.tile_oc, v.tile_oc) && agrees(s.tile_ow, v.tile_ow) &&
         agrees(s.tile_oh, v.tile_oh) && agrees(s.thread_oc, v.thread_oc) && agrees(s.thread_ow, v.thread_ow) &&
         agrees(s.thread_oh, v.thread_oh) && agrees(s.kw, v.kw) && agrees(s.kw_tile, v.kw_tile) &&
         agrees(s.kh_tile, v.kh_tile) && agrees(s.layout, v.layout);
}

bool holds(const ProductSpeed &s, const Variant &v) {
  const auto agrees = [](int32_t wanted, int32_t found) { return wanted == 0 || wanted == found; };
  return agrees(s.tile_oc, v.tile_oc) && agrees(s.tile_ow, v.tile_ow) && agrees(s.thread_oc, v.thread_oc) &&
         agrees(s.thread_ow, v.thread_ow) && agrees(s.products, v.products);
}

Turns turns_of(int64_t blocks, int32_t at_once, const Machine &machine) {
  const int64_t blocks_at_once = std::max(at_once, 1), multiprocessors = std::max(machine.multiprocessors, 1);
  const int64_t wave = multiprocessors * blocks_at_once;
  // In the last wave a multiprocessor may hold fewer blocks. They have it to themselves, but hide less of each other's
  // waiting: measured times lie near the geometric mean of those two effects.
  const int64_t full_waves = blocks / wave, rest = blocks % wave;
  const int64_t last = rest / multiprocessors + (rest % multiprocessors != 0);
  return {full_waves + (rest != 0), static_cast<double>(full_waves * blocks_at_once) +
                                        std::sqrt(static_cast<double>(last) * static_cast<double>(blocks_at_once))};
}

double stores_of_8(const Variant &v, int64_t output_width) {
  // The neighbours are 8 channels, of which NHWC has whole pieces; or 2 bytes a lane, which eight lanes join to 16.
  if (v.layout == HCONV_LAYOUT_NHWC || v.store_bytes != 16)
    return 1;
  // They are pixels: pieces of 8 from the left edge, and the last one's elements one by one where it is not full
  // (store_row and store_some of the prelude). Every eighth row starts at 16 bytes again.
  const int64_t pieces = output_width / channel_piece, left = output_width % channel_piece;
  int64_t all = 0;
  for (int64_t row = 0; row < channel_piece; ++row) {
    const int64_t start = row * output_width % channel_piece;
    const int64_t stores = start == 0 ? 1 : start % 4 == 0 ? 2 : start % 2 == 0 ? 4 : 5;
    all += pieces * stores + left;
  }
  return static_cast<double>(all) / static_cast<double>(output_width);
}

namespace {

/// Adds what a variant of sum_speeds() takes besides its sums, `turns` blocks of a multiprocessor one after another.
void add_matrix_costs(const Variant &v, const hconv_problem &p, const Machine &machine, double turns, Cost *cost) {
  const Geometry g = geometry_of(p);
  const MatrixSpeeds s = matrix_speeds();
  const double nanosecond = transform_speeds().nanosecond;
  const int64_t images = std::max<int64_t>(p.batch, 1);
  const PackedInput input = packed_input(p, v);
  const double batch = static_cast<double>(images), element = static_cast<double>(g.element_bytes);
  if (input.image != 0)
    cost->input = nanosecond * batch * element * static_cast<double>(g.x_image + input.image) /
                  (s.packing_bytes * std::max(machine.multiprocessors, 1));
  const double pieces = batch * static_cast<double>(g.y_image) / channel_piece / static_cast<double>(cost->blocks);
  const double piece =
      v.store_bytes == 16 ? s.wide_store + s.further_store * (stores_of_8(v, g.output_width) - 1) : s.narrow_store;
  cost->output = nanosecond * turns * pieces * piece;
  // As for transform: each launch but the first, which every variant has.
  cost->launches = nanosecond * s.launch *
                   static_cast<double>(tiles_of(images, launch_batch(g, input)) * (input.image != 0 ? 2 : 1) - 1);
}

} // namespace

Cost block_cost_of(const Variant &v, const hconv_problem &p, const Machine &machine, int64_t parts) {
  const Geometry g = geometry_of(p);
  Cost cost;
  cost.speed = speed_of(v);
  // An empty batch costs as much as one image: something has to be chosen for it too.
  if (!product(&cost.blocks, {std::max<int64_t>(p.batch, 1), parts, tiles_of(g.output_height, v.tile_oh),
                              tiles_of(p.out_channels, v.tile_oc), tiles_of(g.output_width, v.tile_ow)}))
    cost.blocks = INT64_MAX;
  const Turns turns = turns_of(cost.blocks, blocks_at_once(v), machine);
  cost.waves = turns.waves;
  // A block computes its whole tile, and every channel and tap of its packed weights, however little of it is wanted.
  const PackedExtents weights = packed_extents(p, v);
  const double outputs = 1.0 * std::max(v.tile_oc, 1) * std::max(v.tile_ow, 1) * std::max(v.tile_oh, 1);
  const double products = outputs * static_cast<double>(weights.ic) * static_cast<double>(weights.kh) *
                          static_cast<double>(weights.kw) / static_cast<double>(parts);
  cost.product = turns.blocks * products / cost.speed;
  if (sum_speed_of(v))
    add_matrix_costs(v, p, machine, turns.blocks, &cost);
  cost.value = cost.input + cost.product + cost.output + cost.launches;
  return cost;
}

namespace {

Cost own_cost_of(const Variant &v, const Variant *product_kernel, const hconv_problem &p, const Machine &machine,
                 int64_t parts) {
  if (product_kernel)
    return transform_cost_of(v, *product_kernel, p, machine);
  if (v.split)
    return split_cost_of(v, parts ? parts : parts_for(v, p, machine), p, machine);
  return block_cost_of(v, p, machine, 1);
}

/// Of x and y between NHWC and NCHW: each byte is read and written once.
double conversion_cost_of(const Variant &v, const hconv_problem &p, const Machine &machine) {
  const Conversion conversion = conversion_of(p, v);
  const TransformSpeeds s = transform_speeds();
  const auto launches =
      static_cast<double>(tiles_of(std::max<int64_t>(p.batch, 1), launch_batch(geometry_of(p), packed_input(p, v))));
  const double bytes = 2.0 * static_cast<double>(conversion.bytes());
  const int kernels = (conversion.x ? 1 : 0) + (conversion.y ? 1 : 0);
  return s.nanosecond * launches *
         (bytes / (s.memory_bytes * std::max(machine.multiprocessors, 1)) + s.launch * static_cast<double>(kernels));
}

} // namespace

Cost cost_of(const Variant &v, const Variant *product_kernel, const hconv_problem &p, const Machine &machine,
             int64_t parts) {
  Cost cost = own_cost_of(v, product_kernel, p, machine, parts);
  cost.conversion = conversion_cost_of(v, p, machine);
  cost.value += cost.conversion;
  return cost;
}

} // namespace hconv::runtime
