// The calls of the ahead-of-time functions; those of transform variants are in calls_transform.cpp.
#include "buffer.h"
#include "plan.h"

namespace hconv::runtime {
namespace {

Buffer packed_weights(const hconv_plan &plan, halide_type_t type, const void *packed) {
  const PackedExtents &e = plan.packed;
  return {plan, type, packed, {{e.oc, e.oc_stride}, {e.kw, e.kw_stride}, {e.kh, e.kh_stride}, {e.ic, e.ic_stride}}};
}

const halide_type_t float32 = halide_type_t(halide_type_float, 32, 1);

halide_type_t bits_of(const hconv_plan &plan) {
  return halide_type_t(halide_type_uint, static_cast<uint8_t>(plan.geometry.element_bytes * 8), 1);
}

/// Adds up the parts of a split variant.
hconv_status call_sum_parts(const hconv_plan &plan, RunContext *run, const void *parts, const void *bias, void *y,
                            int64_t batch) {
  const Geometry &g = plan.geometry;
  const halide_type_t type = halide_type_of(plan.problem.dtype);
  Buffer from(plan, float32, parts, {{g.y_image, 1}, {plan.parts, g.y_image}, {batch, plan.parts * g.y_image}});
  Buffer bb(plan, type, bias ? bias : y, {{bias ? plan.problem.out_channels : 1, 1}});
  Buffer to(plan, type, y, {{g.y_image, 1}, {batch, g.y_image}});
  const int result = plan.sum_parts->sum_parts(run, &from.buffer, &bb.buffer, bias ? 1 : 0,
                                               static_cast<int32_t>(g.output_height * g.output_width), &to.buffer);
  return run->finish(result, plan.sum_parts->name);
}

/// The float32 sums of a split variant, [batch][parts][OC][OH][OW].
Buffer parts_of(const hconv_plan &plan, const void *parts, int64_t batch) {
  const Geometry &g = plan.geometry;
  const int64_t pixels = g.output_height * g.output_width;
  return {plan,
          float32,
          parts,
          {{g.output_width, 1},
           {g.output_height, g.output_width},
           {plan.problem.out_channels, pixels},
           {plan.parts, g.y_image},
           {batch, plan.parts * g.y_image}}};
}

/// In the variant's own layout.
hconv_status call_variant(const hconv_plan &plan, RunContext *run, const void *x, const void *packed, const void *bias,
                          void *y, Scratch workspace, int64_t batch) {
  if (plan.product)
    return call_transform(plan, run, x, packed, bias, y, workspace, batch);
  const hconv_problem &p = plan.problem;
  const Geometry &g = plan.geometry;
  const PackedInput &input = plan.input;
  if (plan.pack_input)
    if (hconv_status bad = call_pack_input(plan, run, x, workspace.address, batch))
      return bad;
  const halide_type_t type = halide_type_of(p.dtype);
  const bool cut = plan.cuts_tasks();
  const bool free_rows = cut && has_free_rows(p);
  const bool nhwc = plan.variant->layout == HCONV_LAYOUT_NHWC;
  Buffer bx = plan.pack_input ? images(plan, type, workspace.address, input.ic, input.width, input.height, batch)
              : nhwc          ? images(plan, type, x, p.in_channels, p.width, p.height, batch)
              : free_rows     ? images(plan, type, x, plan.tasks.width, plan.tasks.height, p.in_channels, batch)
                              : images(plan, type, x, p.width, p.height, p.in_channels, batch);
  Buffer bw = packed_weights(plan, type, packed);
  // Without a bias the function still wants a valid buffer, which it never reads.
  Buffer bb(plan, type, bias ? bias : x, {{bias ? p.out_channels : 1, 1}});
  void *const parts = plan.parts ? static_cast<char *>(workspace.address) + parts_offset(g, input, batch) : nullptr;
  Buffer by = parts  ? parts_of(plan, parts, batch)
              : nhwc ? pixels(plan, type, y, p.out_channels, g.output_width, g.output_height, batch)
                     : images(plan, type, y, cut ? plan.tasks.width : g.output_width,
                              cut ? plan.tasks.height : g.output_height, p.out_channels, batch);
  const hconv_padding padding = plan.pack_input && !nhwc ? hconv_padding{} : p.padding;
  const int has_bias = bias ? 1 : 0;
  const int result =
      plan.variant->conv(run, &bx.buffer, &bw.buffer, &bb.buffer, has_bias, padding.top, padding.left, &by.buffer);
  const hconv_status status = run->finish(result, plan.variant->name);
  return status || !parts ? status : call_sum_parts(plan, run, parts, bias, y, batch);
}

} // namespace

hconv_status call_pack(const hconv_plan &plan, RunContext *run, Weights w, void *packed) {
  if (plan.product)
    return call_transform_weights(plan, run, w.address, packed);
  const hconv_problem &p = plan.problem;
  Buffer from =
      w.channels_last
          ? pixels(plan, bits_of(plan), w.address, p.in_channels, p.kernel_width, p.kernel_height, p.out_channels)
          : images(plan, bits_of(plan), w.address, p.kernel_width, p.kernel_height, p.in_channels, p.out_channels);
  Buffer to = packed_weights(plan, bits_of(plan), packed);
  return run->finish(plan.pack->pack(run, &from.buffer, &to.buffer), plan.pack->name);
}

hconv_status call_pack_input(const hconv_plan &plan, RunContext *run, const void *x, void *workspace, int64_t batch) {
  const hconv_problem &p = plan.problem;
  const PackedInput &input = plan.input;
  const bool nhwc = plan.variant->layout == HCONV_LAYOUT_NHWC;
  Buffer from = nhwc ? pixels(plan, bits_of(plan), x, p.in_channels, p.width, p.height, batch)
                     : images(plan, bits_of(plan), x, p.width, p.height, p.in_channels, batch);
  Buffer to = images(plan, bits_of(plan), workspace, input.ic, input.width, input.height, batch);
  const hconv_padding padding = nhwc ? hconv_padding{} : p.padding;
  const int result = plan.pack_input->pack_input(run, &from.buffer, padding.top, padding.left, &to.buffer);
  return run->finish(result, plan.pack_input->name);
}

hconv_status call_transpose(const hconv_plan &plan, RunContext *run, const void *x, void *y, int64_t rows,
                            int64_t columns, int64_t batch) {
  const auto of = [&](const void *address, int64_t inner, int64_t outer) -> Buffer {
    return {plan, bits_of(plan), address, {{inner, 1}, {outer, inner}, {batch, inner * outer}}};
  };
  Buffer from = of(x, columns, rows), to = of(y, rows, columns);
  return run->finish(plan.transpose->transpose(run, &from.buffer, &to.buffer), plan.transpose->name);
}

hconv_status call_conv(const hconv_plan &plan, RunContext *run, const void *x, const void *packed, const void *bias,
                       void *y, Scratch workspace, int64_t batch) {
  const hconv_problem &p = plan.problem;
  const Geometry &g = plan.geometry;
  const Conversion &conversion = plan.conversion;
  char *const converted_x = static_cast<char *>(workspace.address), *const converted_y = converted_x + conversion.x;
  const auto bytes = static_cast<size_t>(conversion.bytes());
  const Scratch rest{workspace.address ? converted_x + bytes : nullptr, workspace.bytes - bytes};
  // [channels][pixels] are the rows and columns of NCHW; of NHWC it is the other way round.
  const auto convert = [&](const void *from, void *to, int64_t channels, int64_t pixels, bool from_nhwc) {
    return call_transpose(plan, run, from, to, from_nhwc ? pixels : channels, from_nhwc ? channels : pixels, batch);
  };
  const bool nhwc = is_nhwc(p);
  if (conversion.x)
    if (hconv_status bad = convert(x, converted_x, p.in_channels, p.height * p.width, nhwc))
      return bad;
  if (hconv_status bad = call_variant(plan, run, conversion.x ? converted_x : x, packed, bias,
                                      conversion.y ? converted_y : y, rest, batch))
    return bad;
  if (!conversion.y)
    return HCONV_OK;
  return convert(converted_y, y, p.out_channels, g.output_height * g.output_width, !nhwc);
}
} // namespace hconv::runtime
