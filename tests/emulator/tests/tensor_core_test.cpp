// mma and ldmatrix against a plain matrix product of the same numbers.
#include "emulated_device.h"

#include "number_formats.h"

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;
using emulator_test::small_integers;

class TensorCore : public EmulatedDevice {
protected:
  static constexpr Shape kOneWarp{{1, 1, 1}, {32, 1, 1}, 8192};

  /// d[16][8] + a[16][depth] * b[depth][8].
  static std::vector<float> expected(const std::vector<float> &a, const std::vector<float> &b, std::vector<float> d) {
    const size_t depth = b.size() / 8;
    for (size_t row = 0; row < 16; ++row)
      for (size_t column = 0; column < 8; ++column)
        for (size_t k = 0; k < depth; ++k)
          d[row * 8 + column] += a[row * depth + k] * b[k * 8 + column];
    return d;
  }

  static std::vector<uint16_t> converted(const std::vector<float> &values, uint16_t (*bits)(float)) {
    std::vector<uint16_t> result;
    for (const float value : values)
      result.push_back(bits(value));
    return result;
  }

  void check_16_bit(const char *kernel, uint16_t (*bits)(float)) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      const std::vector<float> a = small_integers(256, 100, seed), b = small_integers(128, 100, seed + 100),
                               d = small_integers(128, 1000, seed + 200);
      const DeviceArray<uint16_t> device_a(converted(a, bits)), device_b(converted(b, bits));
      const DeviceArray<float> device_d(d);
      ASSERT_EQ(launch(kernel, kOneWarp, device_a.pointer(), device_b.pointer(), device_d.pointer()), CUDA_SUCCESS);
      ASSERT_EQ(device_d.values(), expected(a, b, d)) << seed;
    }
  }
};

TEST_F(TensorCore, Bfloat16) {
  check_16_bit("mma_bf16", hconv::bfloat16_bits);
}
TEST_F(TensorCore, Float16) {
  check_16_bit("mma_f16", hconv::half_bits);
}

TEST_F(TensorCore, EachElementOfAAndBReachesItsProductAlone) {
  // One element of A and one of B at a time: a wrong place cannot hide behind another.
  for (int row = 0; row < 16; row += 3) {
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 8; ++column) {
        std::vector<float> a(256, 0), b(128, 0), d(128, 0);
        a[size_t(row) * 16 + k] = 3;
        b[size_t(k) * 8 + column] = 5;
        const DeviceArray<uint16_t> device_a(converted(a, hconv::bfloat16_bits)),
            device_b(converted(b, hconv::bfloat16_bits));
        const DeviceArray<float> device_d(d);
        ASSERT_EQ(launch("mma_bf16", kOneWarp, device_a.pointer(), device_b.pointer(), device_d.pointer()),
                  CUDA_SUCCESS);
        d[size_t(row) * 8 + column] = 15;
        ASSERT_EQ(device_d.values(), d) << row << " " << k << " " << column;
      }
    }
  }
}

TEST_F(TensorCore, Tf32) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::vector<float> a = small_integers(128, 100, seed), b = small_integers(64, 100, seed + 100),
                             d = small_integers(128, 1000, seed + 200);
    const DeviceArray<float> device_a(a), device_b(b), device_d(d);
    ASSERT_EQ(launch("mma_tf32", kOneWarp, device_a.pointer(), device_b.pointer(), 0, device_d.pointer()),
              CUDA_SUCCESS);
    ASSERT_EQ(device_d.values(), expected(a, b, d)) << seed;
  }
}

TEST_F(TensorCore, Tf32RoundsWhenAskedAndElseDropsTheLowBits) {
  const float above_tie = 1 + 0x1.8p-11f; // 3/4 of a step of 2^-10
  std::vector<float> a(128, 0), b(64, 0);
  for (size_t row = 0; row < 16; ++row)
    a[row * 8] = above_tie;
  for (size_t column = 0; column < 8; ++column)
    b[column] = 1;
  for (const int raw : {0, 1}) {
    const DeviceArray<float> device_a(a), device_b(b), device_d(std::vector<float>(128, 0));
    ASSERT_EQ(launch("mma_tf32", kOneWarp, device_a.pointer(), device_b.pointer(), raw, device_d.pointer()),
              CUDA_SUCCESS);
    EXPECT_EQ(device_d.values(), std::vector<float>(128, raw ? 1.0f : 1 + 0x1p-10f));
  }
}

TEST_F(TensorCore, LdmatrixGivesEachLaneItsPair) {
  for (const int matrices : {2, 4}) {
    std::vector<uint16_t> x(size_t(matrices) * 64);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = uint16_t(i);
    for (const int transposed : {0, 1}) {
      const DeviceArray<uint16_t> device_x(x);
      const DeviceArray<unsigned> r(128);
      ASSERT_EQ(launch("load_matrices", kOneWarp, device_x.pointer(), matrices, transposed, r.pointer()), CUDA_SUCCESS);
      const std::vector<unsigned> got = r.values();
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned m = 0; m < 4; ++m) {
          // Row lane / 4, columns 2 * (lane % 4) and the next; rows and columns change roles when transposed.
          const unsigned row = lane / 4, column = lane % 4 * 2;
          const unsigned low = 64 * m + (transposed ? column * 8 + row : row * 8 + column);
          const unsigned high = 64 * m + (transposed ? (column + 1) * 8 + row : row * 8 + column + 1);
          ASSERT_EQ(got[lane * 4 + m], m < unsigned(matrices) ? low | high << 16 : 0) << lane << " " << m;
        }
      }
    }
  }
}

TEST_F(TensorCore, LanesOfAQuadExchangeTheirRegisters) {
  std::vector<unsigned> x(128), expected(128);
  for (unsigned i = 0; i < 128; ++i) {
    x[i] = 1000 + i;
    const unsigned lane = i / 4, j = i % 4;
    expected[i] = 1000 + (lane / 4 * 4 + j) * 4 + lane % 4; // lane j's register q
  }
  const DeviceArray<unsigned> device_x(x), r(128);
  ASSERT_EQ(launch("exchange_quads", kOneWarp, device_x.pointer(), r.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(r.values(), expected);
}

TEST_F(TensorCore, MovmatrixTransposes) {
  std::vector<uint16_t> x(64), expected(64);
  for (unsigned i = 0; i < 64; ++i) {
    x[i] = uint16_t(500 + i);
    expected[i] = uint16_t(500 + i % 8 * 8 + i / 8);
  }
  const DeviceArray<uint16_t> device_x(x), y(64);
  ASSERT_EQ(launch("transpose_matrix", kOneWarp, device_x.pointer(), y.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(y.values(), expected);
}

TEST_F(TensorCore, LdmatrixFeedsMma) {
  const std::vector<float> a = small_integers(256, 100, 31), b = small_integers(128, 100, 32);
  const DeviceArray<uint16_t> device_a(converted(a, hconv::bfloat16_bits)),
      device_b(converted(b, hconv::bfloat16_bits));
  const DeviceArray<float> d(128);
  ASSERT_EQ(launch("mma_bf16_from_shared", kOneWarp, device_a.pointer(), device_b.pointer(), d.pointer()),
            CUDA_SUCCESS);
  EXPECT_EQ(d.values(), expected(a, b, std::vector<float>(128, 0)));
}

TEST_F(TensorCore, LdmatrixRefusesBadRows) {
  const DeviceArray<unsigned> r(32);
  const Shape small{{1, 1, 1}, {32, 1, 1}, 64};
  EXPECT_EQ(launch("load_matrices_at", small, 48, r.pointer()), CUDA_SUCCESS);
  EXPECT_EQ(launch("load_matrices_at", small, 8, r.pointer()), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(last_message(), testing::HasSubstr("not a multiple of 16 bytes"));
  hconv_emulator_reset();
  EXPECT_EQ(launch("load_matrices_at", small, 64, r.pointer()), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(last_message(), testing::HasSubstr("offset 64 does not lie in the block's 64 bytes"));
  hconv_emulator_reset();
}

} // namespace
