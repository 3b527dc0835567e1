// Kernels convert as the host twin does. In the emulator this holds by construction; on a device it compares the twin
// with the instructions.
#include "emulated_device.h"

#include "number_formats.h"

#include <cmath>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;

class Conversions : public EmulatedDevice {
protected:
  void check(unsigned first, unsigned step, int n) {
    const DeviceArray<uint16_t> half(static_cast<size_t>(n)), bfloat(static_cast<size_t>(n));
    const DeviceArray<unsigned> tf32(static_cast<size_t>(n));
    const Shape shape{{unsigned(n + 255) / 256, 1, 1}, {256, 1, 1}, 0};
    ASSERT_EQ(launch("convert_floats", shape, first, step, n, half.pointer(), bfloat.pointer(), tf32.pointer()),
              CUDA_SUCCESS);
    const std::vector<uint16_t> halves = half.values(), bfloats = bfloat.values();
    const std::vector<unsigned> tf32s = tf32.values();
    for (int i = 0; i < n; ++i) {
      const unsigned bits = first + unsigned(i) * step;
      const float x = hconv::twin::float_of(bits);
      const auto at = static_cast<size_t>(i);
      ASSERT_EQ(halves[at], hconv::half_bits(x)) << std::hex << bits;
      ASSERT_EQ(bfloats[at], hconv::bfloat16_bits(x)) << std::hex << bits;
      ASSERT_EQ(tf32s[at], hconv::tf32_bits(x)) << std::hex << bits;
    }
  }
};

TEST_F(Conversions, FloatsOfAllSizes) {
  check(0, 4099, 1 << 20); // a prime step: all exponents, both signs, infinities and NaNs
}

TEST_F(Conversions, EveryTie) {
  check(0, 0x1000, 1 << 20); // halfway marks of float16 and TF32 have 12 low zeros, those of bfloat16 more
}

TEST_F(Conversions, SubnormalHalves) {
  check(0x33000000u - 1000, 1, 2000); // around half of the smallest one
  check(0x33000000u, 61, 1 << 20);    // and on to the normal ones
  check(0x477ff000u - 1000, 1, 2000); // around the first float that becomes infinity
  check(0x7f800000u - 1000, 1, 2000); // around infinity
}

TEST_F(Conversions, EveryPatternWidened) {
  const DeviceArray<unsigned> from_half(65536), from_bfloat(65536);
  ASSERT_EQ(launch("widen_all", {{64, 1, 1}, {1024, 1, 1}, 0}, from_half.pointer(), from_bfloat.pointer()),
            CUDA_SUCCESS);
  const std::vector<unsigned> halves = from_half.values(), bfloats = from_bfloat.values();
  for (unsigned i = 0; i < 65536; ++i) {
    const auto same = [](float expected, unsigned bits) {
      return std::isnan(expected) ? std::isnan(hconv::twin::float_of(bits)) : hconv::twin::bits_of(expected) == bits;
    };
    ASSERT_TRUE(same(hconv::half_value(uint16_t(i)), halves[i])) << i;
    ASSERT_TRUE(same(hconv::bfloat16_value(uint16_t(i)), bfloats[i])) << i;
  }
}

} // namespace
