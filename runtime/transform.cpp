#include "transform.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layout.h"
#include "tiling.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

constexpr int64_t float_bytes = 4;

} // namespace

int64_t spectrum_group(const Variant &transform) {
  if (!is_cuda(transform.target))
    return transform.target == Target::cpu_avx512 ? 16 : transform.target == Target::cpu_avx2 ? 8 : 4;
  const int32_t longest = std::max(transform.fft_h, transform.fft_w);
  return longest <= 16 ? 32 : longest <= 32 ? 16 : 8;
}

TransformLayout transform_layout(const hconv_problem &p, const Variant &transform, const Variant &product) {
  const Geometry g = geometry_of(p);
  TransformLayout l{};
  l.fft_h = transform.fft_h;
  l.fft_w = transform.fft_w;
  l.frequencies = l.fft_h * l.fft_w / 2 + 2;
  l.step_h = l.fft_h - p.kernel_height + 1;
  l.step_w = l.fft_w - p.kernel_width + 1;
  l.tiles_h = tiles_of(g.output_height, l.step_h);
  l.tiles_w = tiles_of(g.output_width, l.step_w);
  l.ic = round_up(p.in_channels, product.ic);
  const auto whole_groups = [&](int32_t tile) {
    return std::lcm<int64_t>(std::max(tile, 1), spectrum_group(transform));
  };
  l.oc = round_up(p.out_channels, whole_groups(product.tile_oc));
  l.granule = whole_groups(product.tile_ow);
  return l;
}

int64_t output_spectra_offset(const TransformLayout &l, int64_t chunk) {
  return round_up(l.input_floats(chunk) * float_bytes, 256);
}

int64_t chunk_bytes(const TransformLayout &l, int64_t chunk) {
  return output_spectra_offset(l, chunk) + round_up(l.output_floats(chunk) * float_bytes, 256);
}

int64_t chunk_tiles(const TransformLayout &l, int64_t tiles, int64_t workspace) {
  // Bytes grow by the same amount with each granule, but for the rounding of 256 bytes that some may not need.
  const int64_t indexable = (element_limit - 1) / (2 * std::max(l.ic, l.oc) * l.frequencies * l.granule);
  int64_t granules = std::min(workspace / (chunk_bytes(l, l.granule) - 512), indexable);
  while (granules > 0 && chunk_bytes(l, granules * l.granule) > workspace)
    --granules;
  if (granules <= 0)
    return 0;
  const int64_t chunks = tiles_of(std::max<int64_t>(tiles, 1), granules * l.granule);
  return round_up(tiles_of(std::max<int64_t>(tiles, 1), chunks), l.granule);
}

int64_t launch_tiles(const hconv_problem &p, const TransformLayout &l) {
  return std::min(p.batch, launch_batch(geometry_of(p), {})) * l.image_tiles();
}

TransformError transform_error(const hconv_problem &p, const Variant &v, const Variant &product_kernel,
                               double tile_norm, double filter_norm) {
  const double n = 1.0 * v.fft_h * v.fft_w, channels = static_cast<double>(p.in_channels), u = std::ldexp(1.0, -24);
  const double levels = std::log2(n) + 2, spectrum = std::expm1(levels * std::log1p(5.6 * u));
  const double product =
      product_kernel.products == 3 ? (std::sqrt(10.0) * channels + 8.1) * u : 2 * std::sqrt(2.0) * channels * u;
  const double all = (1 + spectrum) * (1 + spectrum) * (1 + product) * (1 + 2 * spectrum) * (1 + u) - 1;
  const double norms = 5 * std::sqrt(n * channels) * (tile_norm + filter_norm);
  return {all, std::ldexp(n * (norms + 2 * channels + 8), -149), spectrum};
}

int64_t full_chunk(const hconv_problem &p, const TransformLayout &l) {
  const int64_t limit =
      raw(p.device.device_type) == kDLCUDA
          ? workspace_limit_on_cuda
          : std::clamp(l.weight_floats() * float_bytes, least_workspace_limit_on_cpu, workspace_limit_on_cpu);
  return chunk_tiles(l, launch_tiles(p, l), std::max(limit, chunk_bytes(l, l.granule)));
}

} // namespace hconv::runtime
