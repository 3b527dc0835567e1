// What a driver refuses to launch; the same on a device of compute capability 9.0.
#include "emulated_device.h"

namespace {

class Limits : public emulator_test::EmulatedDevice {};

TEST_F(Limits, LaunchLimits) {
  const auto result = [&](Shape s) { return launch("no_arguments", s); };
  EXPECT_EQ(result({{1, 1, 1}, {1024, 1, 1}, 0}), CUDA_SUCCESS);
  EXPECT_EQ(result({{1, 1, 1}, {1025, 1, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result({{1, 1, 1}, {32, 33, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result({{1, 1, 1}, {1, 1, 64}, 0}), CUDA_SUCCESS);
  EXPECT_EQ(result({{1, 1, 1}, {1, 1, 65}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result({{1, 65535, 1}, {1, 1, 1}, 0}), CUDA_SUCCESS);
  EXPECT_EQ(result({{1, 65536, 1}, {1, 1, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result({{1, 1, 65536}, {1, 1, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result({{70000, 1, 1}, {1, 1, 1}, 0}), CUDA_SUCCESS);
  EXPECT_EQ(result({{0, 1, 1}, {1, 1, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result({{1, 1, 1}, {1, 0, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS) << "a refused launch does not stick";
}

TEST_F(Limits, SharedMemoryNeedsItsAttributeBeyond48Kilobytes) {
  const auto result = [&](unsigned bytes) { return launch("no_arguments", {{1, 1, 1}, {1, 1, 1}, bytes}); };
  const CUfunction f = function("no_arguments");
  EXPECT_EQ(result(49152), CUDA_SUCCESS);
  EXPECT_EQ(result(49153), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448), CUDA_SUCCESS);
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f), CUDA_SUCCESS);
  EXPECT_EQ(value, 232448);
  EXPECT_EQ(result(232448), CUDA_SUCCESS);
  EXPECT_EQ(result(232449), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
