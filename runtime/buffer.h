// From addresses to halide_buffer_t, as the ahead-of-time functions want them.
#pragma once

#include <initializer_list>

#include "plan.h"

namespace hconv::runtime {

// The stock CUDA back end wants to see its own interface; it is there only if such variants are linked.
extern "C" const halide_device_interface_t *halide_cuda_device_interface() __attribute__((weak));

/// One dimension of a buffer. Extents and the product of all of them have been checked to fit in 31 bits.
struct Dimension {
  int64_t extent, stride;
};

/// Dense or strided elements at an address on the plan's device, with the lowest index 0 everywhere.
struct Buffer {
  halide_dimension_t dimensions[5];
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

/// [channels, height, width] of each image, dense with the channels innermost; the buffer has the dimensions of NCHW.
inline Buffer pixels(const hconv_plan &plan, halide_type_t type, const void *address, int64_t channels, int64_t width,
                     int64_t height, int64_t batch) {
  return {plan,
          type,
          address,
          {{width, channels}, {height, width * channels}, {channels, 1}, {batch, height * width * channels}}};
}

/// A tensor of `batch` images, each dense with `inner` innermost.
inline Buffer images(const hconv_plan &plan, halide_type_t type, const void *address, int64_t inner, int64_t middle,
                     int64_t outer, int64_t batch) {
  return {plan, type, address, {{inner, 1}, {middle, inner}, {outer, inner * middle}, {batch, inner * middle * outer}}};
}

} // namespace hconv::runtime
