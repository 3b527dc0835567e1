// Transform variants in dispatch: which product kernel goes with one, what the two cost, and why they cannot serve.
#include <algorithm>
#include <cmath>

#include "dispatch.h"
#include "error.h"
#include "tiling.h"
#include "transform.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

// Channels that one chain of float32 additions may have: beyond that its error on random data, 2.8e-7 at 128 and 8.1e-7
// at 1024, would exceed the direct kernels', whose sums are kept in blocks.
constexpr int64_t longest_chain = 384;
// Tiles of an image are numbered in 32 bits, with room for a last chunk that is not full.
constexpr int64_t tile_limit = int64_t{1} << 30;

/// Work and traffic of a problem, an empty batch taken for one image.
struct Work {
  TransformLayout layout;
  int64_t tiles, chunk, chunks; ///< chunks of `chunk` tiles, the last one perhaps not full
  double x_bytes, y_bytes;      ///< of the tensors
  double input_bytes, output_bytes, weight_bytes;
  double input_operations, output_operations; ///< of the transforms
  double block_products, products;            ///< real ones, of one block of the product kernel, and of all
  int64_t blocks;                             ///< of the product kernel, in a chunk
};

/// The line for a transform variant; a tile beyond the table's last line takes that.
const TileSpeed &tile_speed_of(const Variant &transform) {
  const Table<TileSpeed> lines = tile_speeds();
  const auto [shorter, longer] = std::minmax(transform.fft_h, transform.fft_w);
  for (const TileSpeed &line : lines)
    if (line.longest >= longer && line.shortest >= shorter)
      return line;
  return *(lines.last - 1);
}

double floats(int64_t count) {
  return 4.0 * static_cast<double>(count);
}

Work work_of(const Variant &transform, const Variant &product, hconv_problem p) {
  p.batch = std::max<int64_t>(p.batch, 1);
  const Geometry g = geometry_of(p);
  Work w{};
  const TransformLayout &l = w.layout = transform_layout(p, transform, product);
  w.chunk = full_chunk(p, l);
  w.tiles = l.image_tiles() > INT64_MAX / 2 / p.batch ? INT64_MAX / 2 : p.batch * l.image_tiles();
  w.chunks = w.tiles / w.chunk + (w.tiles % w.chunk != 0);
  const double granules = std::ceil(static_cast<double>(w.tiles) / static_cast<double>(l.granule));
  const double tiles = granules * static_cast<double>(l.granule);
  const double batch = static_cast<double>(p.batch), element = static_cast<double>(g.element_bytes);
  w.x_bytes = batch * static_cast<double>(g.x_image) * element;
  w.y_bytes = batch * static_cast<double>(g.y_image) * element;
  w.input_bytes = tiles * floats(l.input_floats(1));
  w.output_bytes = tiles * floats(l.output_floats(1));
  w.weight_bytes = static_cast<double>(w.chunks) * floats(l.weight_floats());
  const double n = static_cast<double>(l.fft_h * l.fft_w), transform_operations = 2.5 * n * std::log2(n);
  w.input_operations = tiles * static_cast<double>(p.in_channels) * transform_operations;
  w.output_operations = tiles * static_cast<double>(p.out_channels) * transform_operations;
  const int64_t tile_oc = std::max(product.tile_oc, 1), tile_n = std::max(product.tile_ow, 1);
  const double real_products = product.products == 3 ? 3 : 4;
  w.block_products = real_products * static_cast<double>(tile_oc * tile_n) * static_cast<double>(l.ic);
  w.blocks = l.oc / tile_oc * (w.chunk / tile_n) * l.frequencies;
  w.products = real_products * tiles * static_cast<double>(l.oc) * static_cast<double>(l.ic) *
               static_cast<double>(l.frequencies);
  return w;
}

} // namespace

Cost transform_cost_of(const Variant &transform, const Variant &product, const hconv_problem &p,
                       const Machine &machine) {
  const Work w = work_of(transform, product, p);
  const TransformSpeeds s = transform_speeds();
  const double chunks = static_cast<double>(w.chunks), multiprocessors = std::max(machine.multiprocessors, 1);
  const double working_set = (w.input_bytes + w.output_bytes + w.weight_bytes) / chunks;
  const double bytes_a_time = multiprocessors * (working_set <= s.cached ? s.cache_bytes : s.memory_bytes);
  const TileSpeed &tile = tile_speed_of(transform);
  const auto moving = [&](double bytes) { return s.nanosecond * bytes / bytes_a_time; };
  const double latency = s.nanosecond * tile.latency * chunks;
  Cost cost;
  cost.speed = speed_of(product);
  const Turns turns = turns_of(w.blocks, product.min_blocks, machine);
  cost.blocks = w.blocks > INT64_MAX / w.chunks ? INT64_MAX : w.blocks * w.chunks;
  cost.waves = turns.waves * w.chunks;
  cost.input = moving(w.x_bytes + w.input_bytes) / tile.bandwidth + latency;
  cost.product = std::max(chunks * turns.blocks * w.block_products / cost.speed,
                          moving(w.input_bytes + w.weight_bytes + w.output_bytes));
  cost.output = moving(w.output_bytes + w.y_bytes) / tile.bandwidth + latency;
  cost.launches = s.nanosecond * s.launch * (3 * chunks - 1);
  cost.value = cost.input + cost.product + cost.output + cost.launches;
  return cost;
}

double cpu_cost_of(const Variant &v, const Variant *product, const hconv_problem &p) {
  const Geometry g = geometry_of(p);
  if (!product) {
    const double covered = static_cast<double>(round_up(p.out_channels, v.tile_oc));
    return static_cast<double>(std::max<int64_t>(p.batch, 1)) * covered * static_cast<double>(g.output_height) *
           static_cast<double>(g.output_width) * static_cast<double>(g.products);
  }
  const Work w = work_of(v, *product, p);
  const CpuTransformSpeeds s = cpu_transform_speeds(v.target);
  return w.products / s.product + (w.input_operations + w.output_operations) / s.fft_operations +
         (2 * (w.input_bytes + w.output_bytes) + w.weight_bytes) / s.bytes;
}

std::string why_not_product(const Variant &product, const Variant &transform, const hconv_problem &p,
                            const Machine &machine) {
  if (product.target != transform.target)
    return text("it runs on %s, and the transforms on %s", name_of(product.target), name_of(transform.target));
  const TransformLayout l = transform_layout(p, transform, product);
  if (l.weight_floats() >= element_limit)
    return text("its weights' spectrum would have extents [%lld, %lld, 2, %lld], 2^31 numbers or more",
                wide(l.frequencies), wide(l.ic), wide(l.oc));
  const int64_t channels = std::max(l.ic, l.oc);
  if (l.output_floats(l.granule) >= element_limit || l.input_floats(l.granule) >= element_limit)
    return text("the spectra of %lld tiles would have extents [%lld, %lld, 2, %lld], 2^31 numbers or more",
                wide(l.granule), wide(l.frequencies), wide(channels), wide(l.granule));
  if (is_cuda(product.target) && channels > grid_y_limit)
    return text("there are %lld channels, more than %lld", wide(channels), wide(grid_y_limit));
  if (l.image_tiles() >= tile_limit)
    return text("an image has %lld tiles, 2^30 or more", wide(l.image_tiles()));
  if (product.sum_ic == 0 && p.in_channels > longest_chain)
    return text("it adds up all channels in one chain, at most %lld, and IC is %lld", wide(longest_chain),
                wide(p.in_channels));
  return needs_more_shared_memory(product, machine);
}

const Variant *product_for(const Variant &transform, const hconv_problem &p, const Machine &machine,
                           std::string *reason) {
  const Variant *best = nullptr;
  double best_cost = 0;
  std::string first_reason;
  for (const Variant &v : variants()) {
    if (v.algorithm != Algorithm::spectral_product || v.target != transform.target)
      continue;
    if (std::string no = why_not_product(v, transform, p, machine); !no.empty()) {
      if (first_reason.empty())
        first_reason = text("%s declines since %s", v.name, no.c_str());
      continue;
    }
    const double cost =
        is_cuda(v.target) ? transform_cost_of(transform, v, p, machine).value : cpu_cost_of(transform, &v, p);
    if (!best || cost < best_cost) {
      best = &v;
      best_cost = cost;
    }
  }
  if (best)
    reason->clear();
  else if (first_reason.empty())
    *reason = text("no spectral_product kernel is compiled for %s", name_of(transform.target));
  else
    *reason = first_reason;
  return best;
}

} // namespace hconv::runtime
