/** Where the generated functions work. device.cpp: the CUDA device of the driver that $HCONV_CUDA_DRIVER names, else
 * the machine's. host.cpp: the processor. */
#pragma once

#include <HalideRuntime.h>
#include <cstddef>
#include <cstdint>
#include <string>

namespace spectrum_test {

/** Whether functions of this variant run here. */
bool can_run(const std::string &variant);

/** Memory that they use, at multiples of 256 bytes; errors throw std::runtime_error. */
class DeviceBuffer {
public:
  DeviceBuffer(const void *from, size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;

  void download(void *to) const;
  /** Says in a description of a tensor that it lies here. */
  void describe(halide_buffer_t &tensor) const;

private:
  uint64_t address_ = 0;
  size_t bytes_;
};

} // namespace spectrum_test
