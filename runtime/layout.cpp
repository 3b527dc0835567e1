#include "layout.h"

#include <algorithm>

#include "tiling.h"
#include "transform.h"

namespace hconv::runtime {

PackedExtents packed_extents(const hconv_problem &p, const Variant &v) {
  PackedExtents e{};
  e.oc = round_up(p.out_channels, v.tile_oc);
  e.kw = p.kernel_width;
  e.kh = p.kernel_height;
  e.ic = round_up(p.in_channels, v.ic);
  if (!product(&e.elements, {e.oc, e.kw, e.kh, e.ic})) {
    e.elements = -1;
    return e;
  }
  int64_t stride = 1;
  const auto next = [&stride](int64_t *stride_of, int64_t extent) {
    *stride_of = stride;
    stride *= extent;
  };
  if (on_tensor_cores(v.algorithm))
    next(&e.ic_stride, e.ic);
  next(&e.oc_stride, e.oc);
  next(&e.kw_stride, e.kw);
  next(&e.kh_stride, e.kh);
  if (!on_tensor_cores(v.algorithm))
    next(&e.ic_stride, e.ic);
  return e;
}

PackedInput packed_input(const hconv_problem &p, const Variant &v) {
  if (!on_tensor_cores(v.algorithm))
    return {};
  if (v.layout == HCONV_LAYOUT_NHWC) {
    if (p.in_channels % channel_piece == 0)
      return {};
    PackedInput input{round_up(p.in_channels, channel_piece), p.width, p.height, 0};
    if (!product(&input.image, {input.ic, input.width, input.height}))
      input.image = -1;
    return input;
  }
  PackedInput input{round_up(p.in_channels, v.ic), p.width + p.padding.left + p.padding.right,
                    p.height + p.padding.top + p.padding.bottom, 0};
  if (!product(&input.image, {input.ic, input.width, input.height}))
    input.image = -1;
  return input;
}

Conversion conversion_of(const hconv_problem &p, const Variant &v) {
  if (is_nhwc(p) == (v.layout == HCONV_LAYOUT_NHWC))
    return {0, 0};
  const Geometry g = geometry_of(p);
  const int64_t batch = std::min(p.batch, launch_batch(g, packed_input(p, v)));
  const auto bytes = [&](int64_t channels, int64_t image) {
    const bool same = v.layout == HCONV_LAYOUT_NCHW && (channels == 1 || channels == image);
    return same ? 0 : round_up(batch * image * g.element_bytes, 256);
  };
  return {bytes(p.in_channels, g.x_image), bytes(p.out_channels, g.y_image)};
}

int64_t launch_batch(const Geometry &g, const PackedInput &input, int64_t parts) {
  constexpr int64_t elements = int64_t{1} << 30;
  return std::max<int64_t>(1, (elements - 1) /
                                  std::max({g.x_image, g.y_image * std::max<int64_t>(parts, 1), input.image}));
}

int64_t packed_bytes(const hconv_problem &p, const Variant &v, const Variant *product) {
  if (v.algorithm == Algorithm::transform)
    return transform_layout(p, v, *product).weight_floats() * 4;
  return packed_extents(p, v).elements * element_bytes(p.dtype);
}

int64_t parts_offset(const Geometry &g, const PackedInput &input, int64_t batch) {
  return round_up(batch * input.image * g.element_bytes, 256);
}

Workspace workspace_of(const hconv_problem &p, const Variant &v, const Variant *product, int64_t parts) {
  if (p.batch == 0)
    return {0, 0};
  if (v.algorithm == Algorithm::transform) {
    const TransformLayout layout = transform_layout(p, v, *product);
    return {chunk_bytes(layout, full_chunk(p, layout)), chunk_bytes(layout, layout.granule)};
  }
  const Geometry g = geometry_of(p);
  const PackedInput input = packed_input(p, v);
  const int64_t batch = std::min(p.batch, launch_batch(g, input, parts));
  const int64_t bytes = parts_offset(g, input, batch) + round_up(batch * parts * g.y_image * 4, 256);
  return {bytes, bytes};
}

} // namespace hconv::runtime
