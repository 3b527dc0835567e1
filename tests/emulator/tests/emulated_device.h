// What the emulator's tests share: a current context, arrays on the device, launches by name.
#pragma once

#include "../driver/cuda_api.h"
#include "hconv_emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulator_test {

/// A fatbin with one entry: header, entry header, no code. `flags` bit 20 marks an `a` architecture.
inline std::vector<unsigned char> fatbin_for(int kind, unsigned architecture, unsigned long long flags = 0x11) {
  std::vector<unsigned char> image;
  const auto put = [&](unsigned long long value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      image.push_back(static_cast<unsigned char>(value >> (8 * i)));
  };
  put(0xba55ed50, 4), put(1, 2), put(16, 2), put(64 + 8, 8);
  put(static_cast<unsigned>(kind), 2), put(0x101, 2), put(64, 4), put(8, 8);
  put(0, 8), put(0, 4), put(architecture, 4), put(0, 8), put(flags, 8), put(0, 8), put(0, 8), put(0, 8);
  return image;
}

/// What the fixture loads: the emulator looks at no more than the headers.
const void *module_image();

/// Bytes on the device, freed at the end. Failed calls fail the test.
template <typename T> class DeviceArray {
public:
  explicit DeviceArray(size_t count) : count_(count) {
    EXPECT_EQ(cuMemAlloc_v2(&pointer_, count * sizeof(T)), CUDA_SUCCESS);
  }
  explicit DeviceArray(const std::vector<T> &values) : DeviceArray(values.size()) {
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(pointer_, values.data(), count_ * sizeof(T), nullptr), CUDA_SUCCESS);
  }
  ~DeviceArray() { cuMemFree_v2(pointer_); }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  CUdeviceptr pointer() const { return pointer_; }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(result.data(), pointer_, count_ * sizeof(T), nullptr), CUDA_SUCCESS);
    return result;
  }

private:
  size_t count_;
  CUdeviceptr pointer_ = 0;
};

/// A pointer argument of the kernel is a CUdeviceptr here; every value must have the kernel's exact type and size.
class EmulatedDevice : public testing::Test {
protected:
  void SetUp() override {
    hconv_emulator_reset();
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module_, module_image()), CUDA_SUCCESS);
  }
  void TearDown() override {
    hconv_emulator_reset();
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
    EXPECT_EQ(hconv_emulator_live_allocations(), 0u);
    EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  CUfunction function(const char *name) {
    CUfunction result = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&result, module_, name), CUDA_SUCCESS) << name;
    return result;
  }

  struct Shape {
    unsigned grid[3], block[3], shared_bytes;
  };

  template <typename... Arguments> CUresult launch(const char *name, const Shape &s, Arguments... arguments) {
    void *pointers[] = {static_cast<void *>(&arguments)..., nullptr};
    return cuLaunchKernel(function(name), s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
                          s.shared_bytes, nullptr, pointers, nullptr);
  }

  std::string last_message() {
    char text[1024];
    hconv_emulator_last_message(text, sizeof text);
    return text;
  }

  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

/// Whole numbers from -range to range in a fixed, unordered pattern.
inline std::vector<float> small_integers(size_t count, int range, unsigned seed) {
  std::vector<float> values(count);
  unsigned state = seed * 2654435761u + 12345u;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>((state >> 16) % static_cast<unsigned>(2 * range + 1)) - range);
  }
  return values;
}

} // namespace emulator_test
