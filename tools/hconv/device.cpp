#include "device.h"

#include "arguments.h"
#include "failure.h"

#include <algorithm>
#include <cstring>

namespace hconv::cli {

Memory::Memory(DLDevice device, size_t bytes, const std::string &what) : device(device), bytes(bytes), what(what) {
  check(hconv_malloc(device, std::max<size_t>(bytes, 1), &address),
        "taking " + std::to_string(bytes) + " bytes on " + device_token(device) + " for " + what);
}

Memory::~Memory() {
  hconv_free(device, address);
}

void Memory::upload(const void *from) {
  if (bytes > 0) {
    check(hconv_copy(address, device, from, cpu_device, bytes, nullptr), "copying " + what + " to the device");
  }
}

void Memory::download(void *to) const {
  if (bytes > 0) {
    check(hconv_copy(to, cpu_device, address, device, bytes, nullptr), "copying " + what + " from the device");
  }
}

namespace {

size_t bytes_of(Type type, const std::vector<int64_t> &shape) {
  size_t bytes = static_cast<size_t>(type_bytes(type));
  for (const int64_t extent : shape) {
    bytes *= static_cast<size_t>(extent);
  }
  return bytes;
}

/** [B, C, pixels] -> [B, pixels, C], elements of `size` bytes. */
void transpose(const unsigned char *from, unsigned char *to, int64_t B, int64_t C, int64_t pixels, size_t size) {
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < C; ++c) {
        std::memcpy(to, from + static_cast<size_t>((b * C + c) * pixels + p) * size, size);
        to += size;
      }
    }
  }
}

std::vector<int64_t> output_shape_of(const Plan &plan) {
  std::vector<int64_t> shape(4);
  hconv_plan_output_shape(plan.get(), shape.data());
  return shape;
}

} // namespace

Tensor::Tensor(DLDevice device, Type type, const std::vector<int64_t> &extents, const std::string &what,
               hconv_layout layout)
    : memory(device, bytes_of(type, extents), what), shape(extents), descriptor() {
  descriptor.data = memory.data();
  descriptor.device = device;
  descriptor.ndim = static_cast<int>(shape.size());
  descriptor.dtype = dl_type(type);
  descriptor.shape = shape.data();
  if (layout == HCONV_LAYOUT_NHWC) {
    strides = {shape[1] * shape[2] * shape[3], 1, shape[3] * shape[1], shape[1]};
    descriptor.strides = strides.data();
  }
}

void Tensor::upload(const void *from) {
  if (!channels_last()) {
    memory.upload(from);
    return;
  }
  std::vector<unsigned char> reordered(memory.size());
  transpose(static_cast<const unsigned char *>(from), reordered.data(), shape[0], shape[1], shape[2] * shape[3],
            descriptor.dtype.bits / 8u);
  memory.upload(reordered.data());
}

void Tensor::download(void *to) const {
  if (!channels_last()) {
    memory.download(to);
    return;
  }
  std::vector<unsigned char> found(memory.size());
  memory.download(found.data());
  transpose(found.data(), static_cast<unsigned char *>(to), shape[0], shape[2] * shape[3], shape[1],
            descriptor.dtype.bits / 8u);
}

Plan::Plan(const hconv_problem &problem, const std::string &doing) {
  check(hconv_plan_create(&problem, &plan), doing);
}

Plan::~Plan() {
  hconv_plan_destroy(plan);
}

Convolution::Convolution(const hconv_problem &p, Type type, bool has_bias, const std::string &doing)
    : device(p.device), plan(p, doing),
      x(device, type, {p.batch, p.in_channels, p.height, p.width}, "the input", p.layout),
      w(device, type, {p.out_channels, p.in_channels, p.kernel_height, p.kernel_width}, "the weights", p.layout),
      bias(device, type, {has_bias ? p.out_channels : 0}, "the bias"),
      y(device, type, output_shape_of(plan), "the output", p.layout),
      packed(device, hconv_plan_packed_bytes(plan.get()), "the packed weights"),
      workspace(device, hconv_plan_workspace_bytes(plan.get()), "the workspace"), has_bias(has_bias) {}

void Convolution::set_input(const void *data) {
  x.upload(data);
}

void Convolution::set_weights(const void *data) {
  w.upload(data);
  check(hconv_pack(plan.get(), w.dl(), packed.data(), packed.size(), nullptr), "packing the weights");
  check(hconv_synchronize(device, nullptr), "packing the weights");
}

void Convolution::set_bias(const void *data) {
  bias.memory.upload(data);
}

void Convolution::poison_output() {
  const std::vector<unsigned char> all_ones(y.memory.size(), 0xff); // a NaN in every type
  y.memory.upload(all_ones.data());
}

void Convolution::run() {
  check(hconv_run(plan.get(), x.dl(), packed.data(), has_bias ? bias.dl() : nullptr, y.dl(), workspace.data(),
                  workspace.size(), nullptr),
        "running the convolution");
}

std::vector<unsigned char> Convolution::output() const {
  check(hconv_synchronize(device, nullptr), "waiting for the convolution");
  std::vector<unsigned char> result(y.memory.size());
  y.download(result.data());
  return result;
}

std::vector<int64_t> Convolution::output_shape() const {
  return output_shape_of(plan);
}

} // namespace hconv::cli
