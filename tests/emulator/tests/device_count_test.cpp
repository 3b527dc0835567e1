// Run with HCONV_EMULATOR_DEVICES=0 (filter NoDevice) and =2 (filter TwoDevices): the count is fixed for a process.
#include "emulated_device.h"

#include <atomic>
#include <thread>

namespace {

using emulator_test::fatbin_for;

TEST(NoDevice, InitSaysSo) {
  EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
  int count = -1;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  CUcontext context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_NOT_INITIALIZED);
}

class TwoDevices : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    const std::vector<unsigned char> image = fatbin_for(2, 90);
    for (int d = 0; d < 2; ++d) {
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&contexts_[d], d), CUDA_SUCCESS);
      ASSERT_EQ(cuCtxSetCurrent(contexts_[d]), CUDA_SUCCESS);
      ASSERT_EQ(cuModuleLoadData(&modules_[d], image.data()), CUDA_SUCCESS);
      ASSERT_EQ(cuModuleGetFunction(&functions_[d], modules_[d], "write_at"), CUDA_SUCCESS);
      ASSERT_EQ(cuMemAlloc_v2(&memory_[d], 1024), CUDA_SUCCESS);
    }
  }
  void TearDown() override {
    hconv_emulator_reset();
    for (int d = 0; d < 2; ++d)
      EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(d), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  }
  CUresult write(int device, CUdeviceptr pointer, CUstream stream = nullptr) {
    int64_t at = 0;
    void *arguments[] = {&pointer, &at};
    return cuLaunchKernel(functions_[device], 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  }

  CUcontext contexts_[2] = {};
  CUmodule modules_[2] = {};
  CUfunction functions_[2] = {};
  CUdeviceptr memory_[2] = {};
};

TEST_F(TwoDevices, MemoryTellsItsDevice) {
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  for (int d = 0; d < 2; ++d) {
    int ordinal = -1;
    EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory_[d]), CUDA_SUCCESS);
    EXPECT_EQ(ordinal, d);
  }
}

TEST_F(TwoDevices, KernelsRunWhereTheirContextIsCurrent) {
  ASSERT_EQ(cuCtxSetCurrent(contexts_[0]), CUDA_SUCCESS);
  EXPECT_EQ(write(0, memory_[0]), CUDA_SUCCESS);
  EXPECT_EQ(write(1, memory_[1]), CUDA_ERROR_INVALID_HANDLE) << "a function of the other context";
  ASSERT_EQ(cuCtxSetCurrent(contexts_[1]), CUDA_SUCCESS);
  EXPECT_EQ(write(1, memory_[1]), CUDA_SUCCESS);
}

TEST_F(TwoDevices, AStreamOfTheOtherDeviceIsRefusedForKernels) {
  ASSERT_EQ(cuCtxSetCurrent(contexts_[1]), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(contexts_[0]), CUDA_SUCCESS);
  EXPECT_EQ(write(0, memory_[0], stream), CUDA_ERROR_INVALID_HANDLE);
  char host = 1;
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(memory_[1], &host, 1, stream), CUDA_SUCCESS) << "copies may use any stream";
}

TEST_F(TwoDevices, MemoryOfTheOtherDeviceIsNotReachable) {
  ASSERT_EQ(cuCtxSetCurrent(contexts_[0]), CUDA_SUCCESS);
  EXPECT_EQ(write(0, memory_[1]), CUDA_ERROR_ILLEGAL_ADDRESS);
  char text[256];
  hconv_emulator_last_message(text, sizeof text);
  EXPECT_THAT(std::string(text), testing::HasSubstr("argument 0 is a pointer to memory of device 1"));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_EQ(cuCtxSetCurrent(contexts_[1]), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << "the other device is well";
}

} // namespace
