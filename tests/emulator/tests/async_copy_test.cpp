// cp.async lands at the wait at the latest, and not for certain before.
#include "emulated_device.h"

#include <cstdlib>
#include <numeric>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;
using emulator_test::small_integers;

constexpr int kTiles = 9;
constexpr unsigned kVectors = 64;

class AsyncCopy : public EmulatedDevice {
protected:
  void TearDown() override {
    unsetenv("HCONV_EMULATOR_CP_ASYNC");
    unsetenv("HCONV_EMULATOR_SEED");
    EmulatedDevice::TearDown();
  }

  void set(const char *timing, int seed) {
    setenv("HCONV_EMULATOR_CP_ASYNC", timing, 1);
    setenv("HCONV_EMULATOR_SEED", std::to_string(seed).c_str(), 1);
    hconv_emulator_reset();
  }

  /// True when the kernel's sums are right.
  bool is_right(const char *kernel) {
    const std::vector<float> x = small_integers(size_t(kTiles) * kVectors * 4, 9, 11);
    const float sum = std::accumulate(x.begin(), x.end(), 0.0f);
    std::vector<float> expected(kVectors);
    for (size_t i = 0; i < kVectors; ++i)
      expected[i] = sum + float(i);
    const DeviceArray<float> device_x(x), y(kVectors);
    EXPECT_EQ(launch(kernel, {{1, 1, 1}, {kVectors, 1, 1}, 3 * kVectors * 16}, device_x.pointer(), kTiles, y.pointer()),
              CUDA_SUCCESS);
    return y.values() == expected;
  }
};

TEST_F(AsyncCopy, RightPipelineIsRightUnderEveryTimingAndSeed) {
  for (const char *timing : {"mixed", "early", "late"}) {
    for (int seed = 0; seed < 20; ++seed) {
      set(timing, seed);
      ASSERT_TRUE(is_right("sum_tiles_right")) << timing << " " << seed;
    }
  }
}

TEST_F(AsyncCopy, MissingWaitOrCommitShowsForEverySeed) {
  for (const char *timing : {"mixed", "late"}) {
    for (int seed = 0; seed < 20; ++seed) {
      set(timing, seed);
      ASSERT_FALSE(is_right("sum_tiles_no_wait")) << timing << " " << seed;
      ASSERT_FALSE(is_right("sum_tiles_no_commit")) << timing << " " << seed;
    }
  }
}

TEST_F(AsyncCopy, MissingBarrierAfterTheWaitShowsForEverySeed) {
  for (int seed = 0; seed < 20; ++seed) {
    set("mixed", seed);
    ASSERT_FALSE(is_right("sum_tiles_no_barrier")) << seed;
  }
}

TEST_F(AsyncCopy, RefillOfAStageStillReadShowsBecauseCopiesMayLandEarly) {
  for (int seed = 0; seed < 20; ++seed) {
    set("mixed", seed);
    ASSERT_FALSE(is_right("sum_tiles_early_refill")) << seed;
  }
}

TEST_F(AsyncCopy, PartOfACopyIsZeroFilled) {
  const std::vector<unsigned> x = {0x11111111, 0x22222222, 0x33333333, 0x44444444, 0x55555555, 0x66666666, 0x77777777};
  const DeviceArray<unsigned> device_x(x), y(7 * 4);
  const auto copied = [&](int bytes16, int bytes8, int bytes4) {
    EXPECT_EQ(
        launch("copy_partly", {{1, 1, 1}, {4, 1, 1}, 4 * 32}, device_x.pointer(), bytes16, bytes8, bytes4, y.pointer()),
        CUDA_SUCCESS);
    const std::vector<unsigned> all = y.values();
    return std::vector<unsigned>(all.begin() + 21, all.end()); // the last thread's
  };
  EXPECT_EQ(copied(16, 8, 4), x);
  EXPECT_EQ(copied(12, 4, 0), (std::vector<unsigned>{0x11111111, 0x22222222, 0x33333333, 0, 0x55555555, 0, 0}));
  EXPECT_EQ(copied(6, 0, 2), (std::vector<unsigned>{0x11111111, 0x2222, 0, 0, 0, 0, 0x7777}));
  EXPECT_EQ(copied(0, 0, 0), std::vector<unsigned>(7, 0));
}

TEST_F(AsyncCopy, NothingIsReadForZeroBytes) {
  const DeviceArray<unsigned> y(7);
  EXPECT_EQ(launch("copy_partly", {{1, 1, 1}, {1, 1, 1}, 32}, CUdeviceptr(0), 0, 0, 0, y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), std::vector<unsigned>(7, 0));
}

TEST_F(AsyncCopy, BadAddressesAndSizesFailTheLaunch) {
  const DeviceArray<unsigned char> x(64);
  const Shape shape{{1, 1, 1}, {1, 1, 1}, 64};
  const auto failure = [&](int source, int destination) {
    const CUresult result = launch("copy_from_to", shape, x.pointer(), source, destination);
    const std::string text = last_message();
    hconv_emulator_reset();
    return std::make_pair(result, text);
  };
  EXPECT_EQ(failure(16, 32).first, CUDA_SUCCESS);
  EXPECT_EQ(failure(4, 32).first, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_THAT(failure(4, 32).second, testing::HasSubstr("the global address is not a multiple of the size"));
  EXPECT_EQ(failure(0, 8).first, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_EQ(failure(0, 64).first, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(failure(0, 64).second, testing::HasSubstr("offset 64 does not lie in the block's 64 bytes"));
  EXPECT_EQ(failure(0, -16).first, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(failure(8192, 0).first, CUDA_ERROR_ILLEGAL_ADDRESS) << "the source faults when the copy lands";
  const DeviceArray<unsigned> y(7);
  EXPECT_EQ(launch("copy_partly", {{1, 1, 1}, {1, 1, 1}, 32}, x.pointer(), 17, 0, 0, y.pointer()),
            CUDA_ERROR_LAUNCH_FAILED);
  hconv_emulator_reset();
}

} // namespace
