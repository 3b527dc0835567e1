// Device memory as the driver's functions show it.
#include "emulated_device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;

class Memory : public EmulatedDevice {
protected:
  void TearDown() override {
    for (const char *name : {"HCONV_EMULATOR_MEMORY_MB", "HCONV_EMULATOR_ALIGNMENT", "HCONV_EMULATOR_STREAMS"})
      unsetenv(name);
    EmulatedDevice::TearDown();
  }
  void set(const char *name, const char *value) {
    setenv(name, value, 1);
    hconv_emulator_reset();
  }
};

TEST_F(Memory, FreshMemoryIsNaNAndAligned) {
  for (const size_t count : {1u, 3u, 64u, 1000u, 5000u}) {
    const DeviceArray<float> x(count);
    EXPECT_EQ(x.pointer() % 256, 0u);
    const std::vector<float> values = x.values();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); }));
  }
}

TEST_F(Memory, AlignmentCanBeLoweredToFaultCloserToTheEnd) {
  set("HCONV_EMULATOR_ALIGNMENT", "16");
  const DeviceArray<float> y(25); // 100 bytes: the guard page begins 12 bytes behind
  EXPECT_EQ(y.pointer() % 16, 0u);
  EXPECT_EQ(launch("write_at", {{1, 1, 1}, {1, 1, 1}, 0}, y.pointer(), int64_t(28)), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(last_message(), testing::HasSubstr("12 bytes past the end of an allocation of 100 bytes"));
  hconv_emulator_reset();
}

TEST_F(Memory, ZeroBytesAndTooManyAreRefused) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc_v2(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, size_t(1) << 60), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  set("HCONV_EMULATOR_MEMORY_MB", "1");
  ASSERT_EQ(cuMemAlloc_v2(&pointer, 600 << 10), CUDA_SUCCESS);
  CUdeviceptr second = 0;
  EXPECT_EQ(cuMemAlloc_v2(&second, 600 << 10), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&second, 600 << 10), CUDA_SUCCESS) << "freed memory counts as free";
  EXPECT_EQ(cuMemFree_v2(second), CUDA_SUCCESS);
}

TEST_F(Memory, FreeTakesOnlyTheStartOfALiveAllocation) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(cuMemAlloc_v2(&pointer, 64), CUDA_SUCCESS);
  EXPECT_EQ(hconv_emulator_live_allocations(), 1u);
  EXPECT_EQ(cuMemFree_v2(pointer + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hconv_emulator_live_allocations(), 0u);
}

TEST_F(Memory, CopiesCheckTheirRanges) {
  const DeviceArray<char> x(64);
  std::vector<char> host(128, 1);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer(), host.data(), 64, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer(), host.data(), 65, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer() + 60, host.data(), 4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer() + 60, host.data(), 5, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer() - 1, host.data(), 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer(), nullptr, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  const auto as_host = reinterpret_cast<void *>(x.pointer());
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer(), as_host, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(as_host, x.pointer(), 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host.data(), x.pointer(), 65, nullptr), CUDA_ERROR_INVALID_VALUE);
  const auto as_device = reinterpret_cast<CUdeviceptr>(host.data());
  EXPECT_EQ(cuMemcpyDtoHAsync_v2(host.data(), as_device, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(x.pointer(), as_device, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(x.pointer() + 32, x.pointer(), 33, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(x.pointer(), 1, 65, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32Async(x.pointer(), 1, 17, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32Async(x.pointer() + 2, 1, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.pointer(), host.data(), 0, nullptr), CUDA_SUCCESS);
}

TEST_F(Memory, CopiesAndFillsMoveTheBytes) {
  const DeviceArray<unsigned> x(std::vector<unsigned>{1, 2, 3, 4}), y(4);
  ASSERT_EQ(cuMemcpyDtoDAsync_v2(y.pointer(), x.pointer(), 16, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), (std::vector<unsigned>{1, 2, 3, 4}));
  ASSERT_EQ(cuMemsetD32Async(y.pointer() + 4, 0xabcdef01, 2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), (std::vector<unsigned>{1, 0xabcdef01, 0xabcdef01, 4}));
  ASSERT_EQ(cuMemsetD8Async(y.pointer() + 1, 0x77, 3, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(y.values()[0], 0x77777701u);
}

TEST_F(Memory, PointerAttributes) {
  const DeviceArray<float> x(100);
  const CUdeviceptr inside = x.pointer() + 396;
  int ordinal = -1;
  EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 0);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned(CU_MEMORYTYPE_DEVICE));
  CUcontext context = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, inside), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  CUdeviceptr begin = 0;
  size_t bytes = 0;
  EXPECT_EQ(cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), CUDA_SUCCESS);
  EXPECT_EQ(begin, x.pointer());
  EXPECT_EQ(bytes, 400u);
  const auto on_host = reinterpret_cast<CUdeviceptr>(&ordinal);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, on_host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside + 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, AsyncAllocationsAreFreedInStreamOrder) {
  CUdeviceptr pointer = 0;
  ASSERT_EQ(cuMemAllocAsync(&pointer, 64, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8Async(pointer, 5, 64, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(pointer + 8, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemFreeAsync(pointer, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(pointer, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hconv_emulator_live_allocations(), 0u);

  set("HCONV_EMULATOR_STREAMS", "lazy");
  ASSERT_EQ(cuMemAllocAsync(&pointer, 64, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFreeAsync(pointer, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(hconv_emulator_live_allocations(), 1u) << "the stream has not come to it";
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(hconv_emulator_live_allocations(), 0u);
}

TEST_F(Memory, AddressesAreNotGivenOutTwice) {
  std::set<CUdeviceptr> seen;
  for (int i = 0; i < 1000; ++i) {
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 100), CUDA_SUCCESS);
    EXPECT_TRUE(seen.insert(pointer).second);
    ASSERT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
  }
}

} // namespace
