// Streams, eager and lazy, and events.
#include "emulated_device.h"

#include <cstdlib>
#include <thread>

namespace {

using emulator_test::DeviceArray;
using testing::HasSubstr;

class Streams : public emulator_test::EmulatedDevice {
protected:
  void TearDown() override {
    unsetenv("HCONV_EMULATOR_STREAMS");
    EmulatedDevice::TearDown();
  }
  void make_lazy() {
    setenv("HCONV_EMULATOR_STREAMS", "lazy", 1);
    hconv_emulator_reset();
  }
};

TEST_F(Streams, Events) {
  CUevent start = nullptr, end = nullptr, untimed = nullptr;
  ASSERT_EQ(cuEventCreate(&start, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE) << "not recorded";
  ASSERT_EQ(cuEventRecord(start, nullptr), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(cuEventRecord(end, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(untimed, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  ASSERT_EQ(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 20.0f);
  EXPECT_LT(milliseconds, 10000.0f);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  for (const CUevent event : {start, end, untimed})
    EXPECT_EQ(cuEventDestroy_v2(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(start, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Streams, CaptureStatusIsWhatTheTestSays) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  hconv_emulator_set_capture_status(nullptr, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
}

// Lazy streams: work is done when something waits for it, so what does not wait shows.

TEST_F(Streams, LazyStreamsDoNothingBeforeAWait) {
  make_lazy();
  CUstream one = nullptr, two = nullptr;
  ASSERT_EQ(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  {
    const DeviceArray<unsigned> x(1);
    unsigned value = 7, result = 0;
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(x.pointer(), &value, 4, one), CUDA_SUCCESS);
    value = 8; // staged before the call returned
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(&result, x.pointer(), 4, two), CUDA_SUCCESS);
    EXPECT_EQ(result, 0xffffffffu) << "stream two does not wait for stream one";
    ASSERT_EQ(cuStreamSynchronize(one), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(&result, x.pointer(), 4, two), CUDA_SUCCESS);
    EXPECT_EQ(result, 7u);

    CUevent start = nullptr, end = nullptr;
    ASSERT_EQ(cuEventCreate(&start, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&end, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(start, one), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(end, one), CUDA_SUCCESS);
    float milliseconds = 0;
    EXPECT_EQ(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
    ASSERT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy_v2(start), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy_v2(end), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuStreamDestroy_v2(one), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(two), CUDA_SUCCESS);
}

TEST_F(Streams, LazyBlockingStreamsWaitForTheDefaultStreamAndTheOtherWayRound) {
  make_lazy();
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  {
    const DeviceArray<unsigned> x(1), y(1);
    unsigned result = 0;
    ASSERT_EQ(cuMemsetD32Async(x.pointer(), 5, 1, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoDAsync_v2(y.pointer(), x.pointer(), 4, blocking), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(&result, y.pointer(), 4, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(result, 5u);
  }
  EXPECT_EQ(cuStreamDestroy_v2(blocking), CUDA_SUCCESS);
}

TEST_F(Streams, LazyLaunchesCopyTheirArgumentsAndReportAtTheWait) {
  make_lazy();
  const DeviceArray<float> y(1);
  CUdeviceptr pointer = y.pointer();
  int64_t at = 4096;
  void *arguments[] = {&pointer, &at};
  ASSERT_EQ(cuLaunchKernel(function("write_at"), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  pointer = 0;
  at = 0;
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(last_message(), HasSubstr("kernel write_at"));
  hconv_emulator_reset();
}

} // namespace
