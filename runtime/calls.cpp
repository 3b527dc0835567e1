// From addresses to halide_buffer_t: the only place that knows the layout of the ahead-of-time functions' arguments.
#include <algorithm>

#include "error.h"
#include "plan.h"

namespace hconv::runtime {
namespace {

// The stock CUDA back end wants to see its own interface; it is there only if such variants are linked.
extern "C" const halide_device_interface_t *halide_cuda_device_interface() __attribute__((weak));

/// One dimension of a buffer. Extents and the product of all of them have been checked to fit in 31 bits.
struct Dimension {
  int64_t extent, stride;
};

struct Buffer {
  halide_dimension_t dimensions[4];
  halide_buffer_t buffer{};

  Buffer(const hconv_plan &plan, halide_type_t type, const void *address, std::initializer_list<Dimension> all) {
    for (const Dimension &d : all)
      dimensions[buffer.dimensions++] =
          halide_dimension_t(0, static_cast<int32_t>(d.extent), static_cast<int32_t>(d.stride));
    buffer.dim = dimensions;
    buffer.type = type;
    if (plan.on_cuda()) {
      buffer.device = reinterpret_cast<uintptr_t>(address);
      if (plan.variant->target == Target::halide_ptx && halide_cuda_device_interface)
        buffer.device_interface = halide_cuda_device_interface();
    } else {
      buffer.host = static_cast<uint8_t *>(const_cast<void *>(address)); // inputs are never written
    }
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
};

/// A tensor of `batch` images, each dense with `inner` innermost.
Buffer images(const hconv_plan &plan, halide_type_t type, const void *address, int64_t inner, int64_t middle,
              int64_t outer, int64_t batch) {
  return {plan, type, address, {{inner, 1}, {middle, inner}, {outer, inner * middle}, {batch, inner * middle * outer}}};
}

Buffer packed_weights(const hconv_plan &plan, halide_type_t type, const void *packed) {
  const PackedExtents &e = plan.packed;
  return {plan, type, packed, {{e.oc, e.oc_stride}, {e.kw, e.kw_stride}, {e.kh, e.kh_stride}, {e.ic, e.ic_stride}}};
}

halide_type_t bits_of(const hconv_plan &plan) {
  return halide_type_t(halide_type_uint, static_cast<uint8_t>(plan.geometry.element_bytes * 8), 1);
}

} // namespace

hconv_status call_pack(const hconv_plan &plan, RunContext *run, const void *w, void *packed) {
  const hconv_problem &p = plan.problem;
  Buffer from = images(plan, bits_of(plan), w, p.kernel_width, p.kernel_height, p.in_channels, p.out_channels);
  Buffer to = packed_weights(plan, bits_of(plan), packed);
  return run->finish(plan.pack->pack(run, &from.buffer, &to.buffer), plan.pack->name);
}

hconv_status call_pack_input(const hconv_plan &plan, RunContext *run, const void *x, void *workspace, int64_t batch) {
  const hconv_problem &p = plan.problem;
  const PackedInput &input = plan.input;
  Buffer from = images(plan, bits_of(plan), x, p.width, p.height, p.in_channels, batch);
  Buffer to = images(plan, bits_of(plan), workspace, input.ic, input.width, input.height, batch);
  const int result = plan.pack_input->pack_input(run, &from.buffer, p.padding.top, p.padding.left, &to.buffer);
  return run->finish(result, plan.pack_input->name);
}

hconv_status call_conv(const hconv_plan &plan, RunContext *run, const void *x, const void *packed, const void *bias,
                       void *y, void *workspace, int64_t batch) {
  const hconv_problem &p = plan.problem;
  const Geometry &g = plan.geometry;
  const PackedInput &input = plan.input;
  if (plan.pack_input)
    if (hconv_status bad = call_pack_input(plan, run, x, workspace, batch))
      return bad;
  const halide_type_t type = halide_type_of(p.dtype);
  Buffer bx = plan.pack_input ? images(plan, type, workspace, input.ic, input.width, input.height, batch)
                              : images(plan, type, x, p.width, p.height, p.in_channels, batch);
  Buffer bw = packed_weights(plan, type, packed);
  // Without a bias the function still wants a valid buffer, which it never reads.
  Buffer bb(plan, type, bias ? bias : x, {{bias ? p.out_channels : 1, 1}});
  Buffer by = images(plan, type, y, g.output_width, g.output_height, p.out_channels, batch);
  const hconv_padding padding = plan.pack_input ? hconv_padding{} : p.padding;
  const int has_bias = bias ? 1 : 0;
  const int result =
      plan.variant->conv(run, &bx.buffer, &bw.buffer, &bb.buffer, has_bias, padding.top, padding.left, &by.buffer);
  return run->finish(result, plan.variant->name);
}

} // namespace hconv::runtime
