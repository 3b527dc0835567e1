// wgmma against a plain matrix product, and what a kernel must not leave out.
#include "emulated_device.h"

#include "number_formats.h"

#include <cstdlib>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;
using emulator_test::small_integers;

std::vector<uint16_t> converted(const std::vector<float> &values, uint16_t (*bits)(float)) {
  std::vector<uint16_t> result;
  for (const float value : values)
    result.push_back(bits(value));
  return result;
}

/// a[64][64] times b[n][64] transposed, of small integers.
struct Product {
  size_t n;
  std::vector<float> a, b;

  Product(size_t columns, unsigned seed)
      : n(columns), a(small_integers(64 * 64, 9, seed)), b(small_integers(columns * 64, 9, seed + 50)) {}

  std::vector<float> exact() const {
    std::vector<float> d(64 * n, 0);
    for (size_t row = 0; row < 64; ++row)
      for (size_t column = 0; column < n; ++column)
        for (size_t k = 0; k < 64; ++k)
          d[row * n + column] += a[row * 64 + k] * b[column * 64 + k];
    return d;
  }
};

class Warpgroup : public EmulatedDevice {
protected:
  CUresult status_ = CUDA_SUCCESS;
  std::string message_;

  /// The kernel's d.
  std::vector<float> computed(const char *kernel, const Product &p, uint16_t (*bits)(float) = hconv::bfloat16_bits) {
    const DeviceArray<uint16_t> a(converted(p.a, bits)), b(converted(p.b, bits));
    const DeviceArray<float> d(std::vector<float>(64 * p.n, -1));
    const unsigned bytes = unsigned(p.n) * 128 + 8 * 81 * 16; // of A: 64 rows of 72 elements, or 8 planes
    status_ = launch(kernel, {{1, 1, 1}, {128, 1, 1}, bytes}, a.pointer(), b.pointer(), d.pointer());
    if (status_ == CUDA_SUCCESS)
      return d.values();
    message_ = last_message();
    hconv_emulator_reset(); // a failed launch sticks to the context, and the arrays are still to be freed
    return {};
  }
};

TEST_F(Warpgroup, MultipliesInEveryShapeAndSwizzle) {
  EXPECT_EQ(computed("wgmma_bf16_n64_s128", Product(64, 1)), Product(64, 1).exact());
  EXPECT_EQ(computed("wgmma_bf16_n128_s64", Product(128, 2)), Product(128, 2).exact());
  EXPECT_EQ(computed("wgmma_bf16_n192_s32", Product(192, 3)), Product(192, 3).exact());
  EXPECT_EQ(computed("wgmma_f16_n256_s128", Product(256, 4), hconv::half_bits), Product(256, 4).exact());
}

TEST_F(Warpgroup, ReadsABothWaysByDescriptor) {
  EXPECT_EQ(computed("wgmma_bf16_a_swizzled", Product(64, 5)), Product(64, 5).exact());
  EXPECT_EQ(computed("wgmma_bf16_a_planar", Product(64, 6)), Product(64, 6).exact());
  EXPECT_EQ(computed("wgmma_f16_a_planar", Product(64, 7), hconv::half_bits), Product(64, 7).exact());
}

// One element of A and one of B at a time: a wrong place cannot hide behind another.
TEST_F(Warpgroup, EachElementReachesItsProductAlone) {
  for (size_t i = 0; i < 64; i += 5) {
    Product p(64, 0);
    p.a.assign(p.a.size(), 0);
    p.b.assign(p.b.size(), 0);
    p.a[i * 64 + (i * 7 + 3) % 64] = 3;
    p.b[(i * 11 + 6) % 64 * 64 + (i * 7 + 3) % 64] = 5;
    for (const char *kernel : {"wgmma_bf16_n64_s128", "wgmma_bf16_a_swizzled", "wgmma_bf16_a_planar"})
      ASSERT_EQ(computed(kernel, p), p.exact()) << kernel << " " << i;
  }
}

#ifdef HCONV_EMULATOR_FAULTS
class FaultyWarpgroup : public Warpgroup {
protected:
  void TearDown() override {
    unsetenv("HCONV_EMULATOR_CP_ASYNC");
    Warpgroup::TearDown();
  }

  void set(const char *timing) {
    setenv("HCONV_EMULATOR_CP_ASYNC", timing, 1);
    hconv_emulator_reset();
  }

  bool is_right(const char *kernel) { return computed(kernel, Product(64, 1)) == Product(64, 1).exact(); }

  void expect_failure(const char *kernel, const char *part) {
    for (const char *timing : {"early", "late", "mixed"}) {
      set(timing);
      computed(kernel, Product(64, 1));
      EXPECT_NE(status_, CUDA_SUCCESS) << kernel << " " << timing;
      EXPECT_THAT(message_, testing::HasSubstr(part)) << timing;
    }
  }
};

TEST_F(FaultyWarpgroup, RightIsRightUnderEveryTiming) {
  for (const char *timing : {"early", "late", "mixed"}) {
    set(timing);
    EXPECT_TRUE(is_right("wgmma_bf16_n64_s128")) << timing;
    EXPECT_TRUE(is_right("wgmma_bf16_a_planar")) << timing;
  }
}

TEST_F(FaultyWarpgroup, ResultsAreNotThereBeforeTheWait) {
  set("late");
  EXPECT_FALSE(is_right("wgmma_no_wait"));
  set("late");
  EXPECT_FALSE(is_right("wgmma_no_commit"));
}

TEST_F(FaultyWarpgroup, OperandsAreReadAsLateAsTheWait) {
  set("late");
  EXPECT_FALSE(is_right("wgmma_early_overwrite_b"));
  set("late");
  EXPECT_FALSE(is_right("wgmma_early_overwrite_a"));
  set("late");
  EXPECT_FALSE(is_right("wgmma_a_early_overwrite"));
}

TEST_F(FaultyWarpgroup, MissingFencesFailTheLaunch) {
  expect_failure("wgmma_no_fence", "no wgmma.fence since registers were written");
  expect_failure("wgmma_no_proxy_fence", "was written by cp.async with no fence.proxy.async since");
  expect_failure("wgmma_a_no_proxy_fence", " of A at offset ");
}

TEST_F(FaultyWarpgroup, WarpsOfAWarpgroupMustAgree) {
  expect_failure("wgmma_other_descriptor", "of B, in another warp of the warpgroup");
  expect_failure("wgmma_a_other_descriptor", "of A, in another warp of the warpgroup");
}
#endif

} // namespace
