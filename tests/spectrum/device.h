/** The CUDA device that the tests use: the driver that $HCONV_CUDA_DRIVER names, else the machine's. */
#pragma once

#include <cstddef>
#include <cstdint>

namespace spectrum_test {

/** Memory of the device; errors throw std::runtime_error. */
class DeviceBuffer {
public:
  DeviceBuffer(const void *from, size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;

  void download(void *to) const;
  uint64_t address() const { return address_; }

private:
  uint64_t address_ = 0;
  size_t bytes_;
};

} // namespace spectrum_test
