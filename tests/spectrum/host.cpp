// The processor as the device of generated functions.
#include "device.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace spectrum_test {

bool can_run(const std::string &variant) {
  const auto is_for = [&](const char *target) { return variant.find(target) != std::string::npos; };
  if (is_for("avx512"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  return !is_for("avx2") || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
}

DeviceBuffer::DeviceBuffer(const void *from, size_t bytes) : bytes_(bytes) {
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    throw std::bad_alloc();
  std::memcpy(memory, from, bytes);
  address_ = reinterpret_cast<uintptr_t>(memory);
}

DeviceBuffer::~DeviceBuffer() {
  std::free(reinterpret_cast<void *>(address_));
}

void DeviceBuffer::describe(halide_buffer_t &tensor) const {
  tensor.host = reinterpret_cast<uint8_t *>(address_);
}

void DeviceBuffer::download(void *to) const {
  std::memcpy(to, reinterpret_cast<void *>(address_), bytes_);
}

} // namespace spectrum_test
