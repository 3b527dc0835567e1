// From addresses to halide_buffer_t: the only place that knows the layout of the ahead-of-time functions' arguments.
#include <algorithm>

#include "error.h"
#include "plan.h"

namespace hconv::runtime {
namespace {

// The stock CUDA back end wants to see its own interface; it is there only if such variants are linked.
extern "C" const halide_device_interface_t *halide_cuda_device_interface() __attribute__((weak));

/// A dense halide_buffer_t, dimension 0 innermost. Extents have been checked to fit in 32 bits, and their product too.
struct Buffer {
  halide_dimension_t dimensions[4];
  halide_buffer_t buffer{};

  Buffer(const hconv_plan &plan, halide_type_t type, const void *address, std::initializer_list<int64_t> extents) {
    int64_t stride = 1;
    for (int64_t extent : extents) {
      dimensions[buffer.dimensions] = halide_dimension_t(0, static_cast<int32_t>(extent), static_cast<int32_t>(stride));
      stride *= extent;
      ++buffer.dimensions;
    }
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

} // namespace

int64_t launch_batch(const Geometry &g) {
  constexpr int64_t elements = int64_t{1} << 30;
  return std::max<int64_t>(1, (elements - 1) / std::max(g.x_image, g.y_image));
}

hconv_status call_pack(const hconv_plan &plan, RunContext *run, const void *w, void *packed) {
  const hconv_problem &p = plan.problem;
  const halide_type_t bits(halide_type_uint, static_cast<uint8_t>(plan.geometry.element_bytes * 8), 1);
  Buffer from(plan, bits, w, {p.kernel_width, p.kernel_height, p.in_channels, p.out_channels});
  Buffer to(plan, bits, packed, {plan.packed.oc, plan.packed.kw, plan.packed.kh, plan.packed.ic});
  return run->finish(plan.pack->pack(run, &from.buffer, &to.buffer), plan.pack->name);
}

hconv_status call_conv(const hconv_plan &plan, RunContext *run, const void *x, const void *packed, const void *bias,
                       void *y, int64_t batch) {
  const hconv_problem &p = plan.problem;
  const Geometry &g = plan.geometry;
  const halide_type_t type = halide_type_of(p.dtype);
  Buffer bx(plan, type, x, {p.width, p.height, p.in_channels, batch});
  Buffer bw(plan, type, packed, {plan.packed.oc, plan.packed.kw, plan.packed.kh, plan.packed.ic});
  // Without a bias the function still wants a valid buffer, which it never reads.
  Buffer bb(plan, type, bias ? bias : x, {bias ? p.out_channels : 1});
  Buffer by(plan, type, y, {g.output_width, g.output_height, p.out_channels, batch});
  const int result = plan.variant->conv(run, &bx.buffer, &bw.buffer, &bb.buffer, bias ? 1 : 0, p.padding.top,
                                        p.padding.left, &by.buffer);
  return run->finish(result, plan.variant->name);
}

} // namespace hconv::runtime
