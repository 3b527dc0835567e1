#include "reference.h"

#include "arguments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace hconv::cli;

namespace {

constexpr double kRoundoff = 0x1p-24;          // of float32
constexpr double kTwoProducts = 3 * kRoundoff; // the bound of a float32 sum of two products and a bias

/** A convolution small enough to write down: 1 image, 1 channel, 1x4, kernel 1x2, padded by one on the left. */
struct Written {
  hconv_problem problem =
      make_problem(parse_shape("1,1,1,4,1,2", "SHAPE"), {0, 0, 1, 0}, Type::f32, HCONV_MATH_FP32, {kDLCPU, 0});
  std::vector<unsigned char> x = bytes({1, 2, 3, 4}), w = bytes({10, 100});
  std::vector<unsigned char> y = bytes({100, 210, 320, 430});

  static std::vector<unsigned char> bytes(const std::vector<float> &values) {
    std::vector<unsigned char> data(values.size() * sizeof(float));
    std::memcpy(data.data(), values.data(), data.size());
    return data;
  }
};

TEST(Reference, AcceptsTheRightAnswer) {
  const Written c;
  const Accuracy accuracy = compare_with_float64(c.problem, Type::f32, kTwoProducts, c.x, c.w, c.y);
  EXPECT_TRUE(accuracy.right());
  EXPECT_EQ(accuracy.checked, 4);
  EXPECT_EQ(accuracy.outputs, 4);
  EXPECT_EQ(accuracy.relative_l2, 0);
}

TEST(Reference, RefusesAnyWrongElement) {
  for (int i = 0; i < 4; ++i) {
    for (const float factor : {1.00001f, 0.5f, std::nanf(""), HUGE_VALF}) {
      Written c;
      float value;
      std::memcpy(&value, c.y.data() + 4 * i, 4);
      value *= factor;
      std::memcpy(c.y.data() + 4 * i, &value, 4);
      const Accuracy accuracy = compare_with_float64(c.problem, Type::f32, kTwoProducts, c.x, c.w, c.y);
      EXPECT_FALSE(accuracy.right()) << i << " times " << factor;
      EXPECT_EQ(accuracy.worst_index, i);
    }
  }
}

TEST(Reference, BoundAdmitsTheStoresRounding) {
  Written c;
  const std::vector<unsigned char> y = {0xc8, 0x42, 0x52, 0x43, 0xa0, 0x43, 0xd7, 0x43}; // 100, 210, 320, 430 in bf16
  std::vector<unsigned char> x, w;
  for (const auto &[from, to] : {std::pair{&c.x, &x}, std::pair{&c.w, &w}}) {
    for (size_t i = 0; i < from->size(); i += 4) {
      to->insert(to->end(), from->begin() + static_cast<long>(i) + 2, from->begin() + static_cast<long>(i) + 4);
    }
  }
  EXPECT_TRUE(compare_with_float64(c.problem, Type::bf16, kTwoProducts, x, w, y).right());
  std::vector<unsigned char> next = y;
  next[2] += 2; // 212: two steps away; half a step is the store's share
  EXPECT_FALSE(compare_with_float64(c.problem, Type::bf16, kTwoProducts, x, w, next).right());
}

TEST(Reference, AdmitsWhatIsPromisedAndNoMore) {
  Written c;
  c.y = Written::bytes({100, 210.05f, 320, 430}); // 2.4e-4 of the sum of magnitudes
  EXPECT_FALSE(compare_with_float64(c.problem, Type::f32, kTwoProducts, c.x, c.w, c.y).right());
  EXPECT_FALSE(compare_with_float64(c.problem, Type::f32, 2.3e-4, c.x, c.w, c.y).right());
  EXPECT_TRUE(compare_with_float64(c.problem, Type::f32, 2.4e-4, c.x, c.w, c.y).right());
}

TEST(Reference, InTheTransformDomainNormsOfTileAndFilterCount) {
  // Tiles of 3 pixels for 2 outputs: [0 1 2], [2 3 4] with norms sqrt(5) and sqrt(29), and a filter (10, 100).
  Written c;
  PromisedError promise(1e-4);
  promise.tiles = PromisedError::Tiles{1, 3, 1, 2};
  const auto right = [&](float first, float third) {
    const std::vector<unsigned char> y = Written::bytes({100 + first, 210, 320 + third, 430});
    return compare_with_float64(c.problem, Type::f32, promise, c.x, c.w, y).right();
  };
  EXPECT_TRUE(right(0.0224f, 0.0540f)); // 1e-4 * sqrt(5 * 10100) is 0.02247, with sqrt(29) 0.05412
  EXPECT_FALSE(right(0.0226f, 0));
  EXPECT_FALSE(right(0, 0.0543f));
}

TEST(Reference, TheLibraryPromisesFloat32SumsOnTheCpu) {
  const PromisedError promise = promised_error(Written().problem);
  EXPECT_DOUBLE_EQ(promise.relative, kTwoProducts);
  EXPECT_FALSE(promise.tiles.has_value());
}

TEST(Reference, SamplesWhatIsTooLarge) {
  const hconv_problem problem =
      make_problem(parse_shape("1,1,1000,10,1,1", "SHAPE"), {0, 0, 0, 0}, Type::f32, HCONV_MATH_FP32, {kDLCPU, 0});
  const std::vector<unsigned char> x = random_elements(10000, Type::f32, 1), one = Written::bytes({1});
  const Accuracy accuracy = compare_with_float64(problem, Type::f32, 2 * kRoundoff, x, one, x, 1000);
  EXPECT_EQ(accuracy.checked, 1000);
  EXPECT_EQ(accuracy.outputs, 10000);
  EXPECT_TRUE(accuracy.right());
  std::vector<unsigned char> last_wrong = x;
  last_wrong[last_wrong.size() - 1] ^= 0x80;
  EXPECT_FALSE(compare_with_float64(problem, Type::f32, 2 * kRoundoff, x, one, last_wrong, 1000).right());
}

TEST(Reference, RandomElementsAreRepeatableAndInRange) {
  for (const Type type : {Type::f32, Type::bf16, Type::f16}) {
    const std::vector<unsigned char> data = random_elements(1000, type, 3);
    EXPECT_EQ(data, random_elements(1000, type, 3));
    EXPECT_NE(data, random_elements(1000, type, 4));
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      const double value = load_element(data.data(), i, type);
      ASSERT_LE(std::fabs(value), 1);
      sum += value;
      squares += value * value;
    }
    EXPECT_LT(std::fabs(sum / 1000), 0.1);      // five standard deviations of the mean
    EXPECT_NEAR(squares / 1000, 1.0 / 3, 0.05); // variance of the uniform distribution, five deviations again
  }
}

} // namespace
