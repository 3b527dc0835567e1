// What a device would not survive becomes a launch failure with a text.
#include "emulated_device.h"

#include <cstdlib>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;
using testing::AllOf;
using testing::HasSubstr;

class Faults : public EmulatedDevice {
protected:
  /// Launches, expects the error and a text, and forgives the context.
  template <typename... Arguments>
  void expect_failure(CUresult error, const testing::Matcher<std::string> &text, const char *kernel, const Shape &shape,
                      Arguments... arguments) {
    EXPECT_EQ(launch(kernel, shape, arguments...), error);
    EXPECT_THAT(last_message(), text);
    EXPECT_EQ(cuCtxSynchronize(), error) << "the error sticks to the context";
    hconv_emulator_reset();
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }

  static constexpr Shape kOneThread{{1, 1, 1}, {1, 1, 1}, 0};
};

TEST_F(Faults, ThreadsThatExitBeforeABarrier) {
  const DeviceArray<float> y(128);
  expect_failure(CUDA_ERROR_LAUNCH_FAILED,
                 AllOf(HasSubstr("kernel exit_before_barrier, block (0,0,0): barrier divergence among 128 threads"),
                       HasSubstr("96 at __syncthreads (first: thread (0,0,0))"),
                       HasSubstr("32 exited (first: thread (96,0,0))")),
                 "exit_before_barrier", {{1, 1, 1}, {128, 1, 1}, 0}, 96, y.pointer());
  EXPECT_EQ(launch("exit_before_barrier", {{1, 1, 1}, {128, 1, 1}, 0}, 128, y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), std::vector<float>(128, 1));
}

TEST_F(Faults, ThreadsThatWaitAtDifferentBarriers) {
  const DeviceArray<float> y(64);
  expect_failure(
      CUDA_ERROR_LAUNCH_FAILED,
      AllOf(HasSubstr("diverged at syncwarp"), HasSubstr("16 at __syncthreads"), HasSubstr("16 at syncwarp")),
      "wait_elsewhere", {{1, 1, 1}, {64, 1, 1}, 0}, y.pointer());
}

TEST_F(Faults, LanesThatMissAMatrixProduct) {
  const DeviceArray<float> y(64);
  const Shape shape{{1, 1, 1}, {64, 1, 1}, 0};
  expect_failure(CUDA_ERROR_LAUNCH_FAILED,
                 AllOf(HasSubstr("warp 1 of 32 lanes diverged"), HasSubstr("8 at mma_m16n8k16_bf16"),
                       HasSubstr("24 exited (first: thread (40,0,0))")),
                 "diverge_at_mma", shape, 40, 0, y.pointer());
  expect_failure(CUDA_ERROR_LAUNCH_FAILED,
                 AllOf(HasSubstr("8 at mma_m16n8k16_bf16"), HasSubstr("24 at mma_m16n8k16_f16")), "diverge_at_mma",
                 shape, 40, 1, y.pointer());
  expect_failure(CUDA_ERROR_LAUNCH_FAILED, HasSubstr("warp 1 of 16 lanes diverged"), "diverge_at_mma",
                 {{1, 1, 1}, {48, 1, 1}, 0}, 64, 0, y.pointer());
  EXPECT_EQ(launch("diverge_at_mma", shape, 64, 0, y.pointer()), CUDA_SUCCESS);
}

TEST_F(Faults, ReadPastTheEndOfAnAllocation) {
  const DeviceArray<float> x(std::vector<float>(64, 2)), y(256);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS,
                 AllOf(HasSubstr("kernel read_at, block (3,0,0), thread (17,0,0)"),
                       HasSubstr("0 bytes past the end of an allocation of 256 bytes")),
                 "read_at", {{8, 1, 1}, {32, 1, 1}, 0}, x.pointer(), int64_t(64), 3, 17, y.pointer());
}

TEST_F(Faults, WriteBelowAnAllocation) {
  const DeviceArray<float> y(1024); // 4096 bytes fill their page
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("4 bytes below an allocation of 4096 bytes"), "write_at",
                 kOneThread, y.pointer(), int64_t(-1));
}

TEST_F(Faults, WriteIntoThePaddingOfAnAllocationIsFoundAfterTheLaunch) {
  // A gap up to the alignment of 256 bytes cannot fault, but it is looked at.
  CUdeviceptr y = 0;
  ASSERT_EQ(cuMemAlloc_v2(&y, 100), CUDA_SUCCESS);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS,
                 HasSubstr("kernel write_at: memory was written 4 bytes past the end of the allocation of 100 bytes"),
                 "write_at", kOneThread, y, int64_t(26));
  EXPECT_EQ(cuMemFree_v2(y), CUDA_ERROR_ILLEGAL_ADDRESS) << "and once more when it is freed";
  hconv_emulator_reset();
  ASSERT_EQ(cuMemAlloc_v2(&y, 100), CUDA_SUCCESS);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("memory was written 8 bytes below the allocation of 100 bytes"),
                 "write_at", kOneThread, y, int64_t(-2));
  EXPECT_EQ(cuMemFree_v2(y), CUDA_ERROR_ILLEGAL_ADDRESS);
  hconv_emulator_reset();
}

TEST_F(Faults, UseAfterFree) {
  CUdeviceptr x = 0;
  ASSERT_EQ(cuMemAlloc_v2(&x, 256), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(x), CUDA_SUCCESS);
  const DeviceArray<float> y(1);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("in an allocation of 256 bytes at"), "read_at", kOneThread, x,
                 int64_t(0), 0, 0, y.pointer());
}

TEST_F(Faults, NullAndHostPointers) {
  const DeviceArray<float> y(1);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("null pointer"), "read_at", kOneThread, CUdeviceptr(0),
                 int64_t(0), 0, 0, y.pointer());
  float on_host = 1;
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("argument 0 is a pointer to host memory"), "read_at", kOneThread,
                 CUdeviceptr(reinterpret_cast<uintptr_t>(&on_host)), int64_t(0), 0, 0, y.pointer());
}

TEST_F(Faults, SharedMemoryOutOfBounds) {
  const Shape shape{{1, 1, 1}, {1, 1, 1}, 256};
  EXPECT_EQ(launch("write_shared_at", shape, 63), CUDA_SUCCESS);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("offset 256 of the block's 256 bytes of shared memory"),
                 "write_shared_at", shape, 64);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("below the start of shared memory"), "write_shared_at", shape,
                 -1);
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("past the end of the 200 bytes of shared memory"),
                 "write_shared_at", {{1, 1, 1}, {1, 1, 1}, 200}, 50);
}

TEST_F(Faults, MisalignedLoads) {
  const DeviceArray<unsigned char> x(std::vector<unsigned char>(64, 1));
  const DeviceArray<unsigned> y(4);
  EXPECT_EQ(launch("load_vector", kOneThread, x.pointer(), 16, y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), std::vector<unsigned>(4, 0x01010101));
  expect_failure(CUDA_ERROR_MISALIGNED_ADDRESS, HasSubstr("kernel load_vector, block (0,0,0), thread (0,0,0)"),
                 "load_vector", kOneThread, x.pointer(), 4, y.pointer());
  EXPECT_EQ(launch("load_word", kOneThread, x.pointer(), 4, y.pointer()), CUDA_SUCCESS);
  expect_failure(CUDA_ERROR_MISALIGNED_ADDRESS, HasSubstr("misaligned"), "load_word", kOneThread, x.pointer(), 2,
                 y.pointer());
}

TEST_F(Faults, DivisionByZeroAndStackOverflow) {
  const DeviceArray<int> y(1);
  EXPECT_EQ(launch("divide", kOneThread, 12, 4, y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values()[0], 3);
  expect_failure(CUDA_ERROR_LAUNCH_FAILED, HasSubstr("division by zero"), "divide", kOneThread, 12, 0, y.pointer());
  expect_failure(CUDA_ERROR_ILLEGAL_ADDRESS, HasSubstr("overflowed"), "overflow_stack", kOneThread, 1000, y.pointer());
  EXPECT_EQ(launch("overflow_stack", kOneThread, 3, y.pointer()), CUDA_SUCCESS);
}

TEST_F(Faults, ManyFailuresInOneProcessDoNoHarm) {
  const DeviceArray<float> x(std::vector<float>(64, 2)), y(4096);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(launch("read_at", {{16, 1, 1}, {256, 1, 1}, 0}, x.pointer(), int64_t(64), i % 16, i, y.pointer()),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    hconv_emulator_reset();
    ASSERT_EQ(launch("read_at", {{16, 1, 1}, {256, 1, 1}, 0}, x.pointer(), int64_t(0), 0, 0, y.pointer()),
              CUDA_SUCCESS);
  }
  EXPECT_EQ(y.values(), std::vector<float>(4096, 2));
}

using FaultsDeathTest = Faults;

TEST_F(FaultsDeathTest, AFaultOutsideOfKernelsKillsAsBefore) {
  ASSERT_EQ(launch("no_arguments", kOneThread), CUDA_SUCCESS); // the handlers are installed now
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  volatile int *volatile null = nullptr;
  EXPECT_DEATH(*null = 1, "");
}

} // namespace
