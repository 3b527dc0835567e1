// Variants of the transform domain: real numbers within the norm-wise bound of docs/transform.md, wherever tiles begin
// and end; special values; any workspace; and bits that depend on nothing but the numbers.
#include "convolution.h"

#include <cmath>

using namespace hconv_test;

namespace {

/** |y - exact| / |exact|, in the Euclidean norm. */
double relative_error(const Elements &y, const std::vector<double> &exact) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < exact.size(); i++)
    error += std::pow(y.value(i) - exact[i], 2), norm += exact[i] * exact[i];
  return std::sqrt(error / norm);
}

class Transform : public testing::TestWithParam<Variant> {
protected:
  const Variant &v() const { return GetParam(); }
  Element type() const { return v().type; }

  /** OH x OW outputs; KH x KW of the tile or smaller. */
  static Shape make(int64_t B, int64_t IC, int64_t OC, int64_t OH, int64_t OW, int64_t KH, int64_t KW) {
    Shape s;
    s.B = B, s.IC = IC, s.OC = OC, s.H = OH + KH - 1, s.W = OW + KW - 1, s.KH = KH, s.KW = KW;
    return s;
  }

  void expect_within_bound(const Shape &s, const Inputs &in) {
    Convolution convolution(s, v());
    EXPECT_TRUE(within_bound(s, convolution.variant(), convolution(in), convolve(s, in), in));
  }
  void expect_within_bound(const std::vector<Shape> &shapes) {
    for (const Shape &s : shapes)
      expect_within_bound(s, normal_inputs(s, type(), s.OC % 2 == 1));
  }
};

TEST_P(Transform, TilesAtEveryBorder) {
  const int64_t KH = 5, KW = 3, step_h = v().fft_h - KH + 1, step_w = v().fft_w - KW + 1;
  std::vector<Shape> shapes;
  for (int d : {-1, 0, 1}) {
    shapes.push_back(make(1, 2, 3, step_h + d, 2 * step_w - d, KH, KW));
    shapes.push_back(make(2, 1, 2, 4, step_w + d, KH, KW));
    shapes.push_back(make(1, 1, 1, 2 * step_h + d, 5, KH, KW));
  }
  expect_within_bound(shapes);
}

TEST_P(Transform, KernelsOfAllShapes) {
  const int64_t th = v().fft_h, tw = v().fft_w;
  expect_within_bound({make(1, 2, 2, 2, 3, th, tw), // a tile is one output
                       make(1, 2, 3, 3, 4, th, 1), make(1, 2, 1, 2, 3, 1, tw), make(1, 3, 2, 5, 6, th / 2, tw / 4),
                       make(1, 3, 3, 7, 9, 1, 1), make(1, 1, 1, 1, 1, 1, 1), make(1, 3, 2, 1, 1, 7, 4),
                       make(1, 2, 1, 1, 1, th, tw)}); // one-pixel outputs
}

// KH and KW that differ much, which is what tiles of 16 x 64 and 64 x 16 are for: two tiles along both.
TEST_P(Transform, LongThinKernels) {
  for (const auto &[KH, KW] : {std::pair(1, 31), std::pair(31, 1), std::pair(3, 33), std::pair(33, 3)})
    if (KH < v().fft_h && KW < v().fft_w)
      expect_within_bound({make(1, 2, 2, v().fft_h - KH + 2, v().fft_w - KW + 2, KH, KW)});
}

TEST_P(Transform, ChannelsBesideWholeTilesOfTheProduct) {
  expect_within_bound({make(1, 7, 17, 3, 4, 3, 2), make(1, 9, 33, 2, 3, 2, 3), make(1, 17, 65, 2, 2, 2, 2)});
}

TEST_P(Transform, Padding) {
  std::vector<Shape> shapes;
  for (const hconv_padding &pad : {hconv_padding{1, 0, 0, 0},
                                   {0, 2, 0, 0},
                                   {0, 0, 3, 0},
                                   {0, 0, 0, 4},
                                   {7, 5, 6, 9}}) { // the last beyond the kernel
    shapes.push_back(make(2, 2, 3, 6, 5, 4, 5));
    shapes.back().pad = pad;
  }
  shapes.push_back(make(1, 2, 3, 1, 1, 6, 7)); // the kernel covers more than x
  shapes.back().H -= 3, shapes.back().pad.top = 2, shapes.back().pad.bottom = 1;
  expect_within_bound(shapes);
}

// Each output sees one product: a pixel of 1 shows the filter, turned round, a tap of 1 shows the image, moved.
TEST_P(Transform, Impulses) {
  const Shape s = make(1, 2, 2, v().fft_h, v().fft_w, 4, 6);
  Inputs in = normal_inputs(s, type(), false);
  const Inputs numbers = in;
  in.x.assign(s.x_size(), 0);
  for (int64_t place : {int64_t(0), (s.H - 5) * s.W + 3, s.H * s.W + 9 * s.W + s.W - 2, s.x_size() - 1})
    in.x[place] = 1;
  expect_within_bound(s, in);
  in = numbers;
  in.w.assign(s.w_size(), 0);
  in.w[0] = in.w[s.w_size() - 1] = 1;
  expect_within_bound(s, in);
}

TEST_P(Transform, ConstantImages) {
  const Shape s = make(1, 2, 3, v().fft_h, 7, 4, 6);
  Inputs in;
  in.x.assign(s.x_size(), 3), in.w.assign(s.w_size(), -0.5), in.bias = {1, -1, 0.25};
  expect_within_bound(s, in);
}

// The bound holds for each tile by itself: large numbers cost digits where their tile is, and nowhere else.
TEST_P(Transform, AMillionfoldSpreadCostsDigitsInItsTileOnly) {
  const int64_t KH = 3, KW = 4, step_h = v().fft_h - KH + 1, step_w = v().fft_w - KW + 1;
  const Shape s = make(1, 2, 2, 2 * step_h, 2 * step_w, KH, KW);
  Inputs in = normal_inputs(s, type(), true);
  const double factor = type() == Element::f16 ? 1024 : 1e6; // within the type's range
  for (int64_t h = 1; h < step_h - 1; h++)
    for (int64_t w = 1; w < step_w - 1; w++)
      if ((h + w) % 3 == 0)
        in.x[h * s.W + w] = round_to(type(), in.x[h * s.W + w] * factor);
  expect_within_bound(s, in);
}

// What HCONV_MATH_FP32 promises: no less exact than adding up the products.
TEST_P(Transform, RelativeErrorIsThatOfAShortSum) {
  if (type() != Element::f32)
    GTEST_SKIP() << "the store hides it";
  Shape s = make(1, 16, 4, v().fft_h / 2 + 1, v().fft_w / 2 + 1, v().fft_h / 2, v().fft_w / 2);
  const Inputs in = normal_inputs(s, type(), false);
  Convolution convolution(s, v());
  const double error = relative_error(convolution(in), convolve(s, in));
  RecordProperty("relative_l2", std::to_string(error));
  EXPECT_LE(error, 5e-7);
}

TEST_P(Transform, AnyWorkspaceGivesTheSameBits) {
  // Tiles of 2 x 2 outputs: 32 of them in an image of 16 x 8.
  const Shape s = make(5, 2, 3, 16, 8, v().fft_h - 1, v().fft_w - 1);
  const Inputs in = normal_inputs(s, type(), true);
  Convolution convolution(s, v());
  const size_t full = hconv_plan_workspace_bytes(convolution.plan());
  const size_t least = hconv_plan_minimum_workspace_bytes(convolution.plan());
  ASSERT_LT(0u, least);
  ASSERT_LE(least, full);
  const Elements y = convolution(in);
  EXPECT_TRUE(within_bound(s, convolution.variant(), y, convolve(s, in), in));
  for (size_t bytes : {least, full - 1, full + 12345}) {
    if (bytes < least)
      continue;
    convolution.set_workspace(bytes);
    EXPECT_EQ(convolution(in), y) << bytes << " bytes of " << full;
  }
  convolution.set_workspace(least - 1);
  try {
    convolution(in);
    ADD_FAILURE() << "one byte less than the least was accepted";
  } catch (const Failure &failure) {
    EXPECT_NE(std::string(failure.what()).find("expected at least " + std::to_string(least)), std::string::npos)
        << failure.what();
  }
}

TEST_P(Transform, LargerKernelsThanTheTileAreRefused) {
  for (const auto &[KH, KW] : {std::pair(v().fft_h + 1, 1), std::pair(1, v().fft_w + 1)})
    try {
      Convolution(make(1, 1, 1, 2, 2, KH, KW), v());
      ADD_FAILURE() << KH << " x " << KW << " was accepted";
    } catch (const Failure &failure) {
      EXPECT_NE(std::string(failure.what()).find("and the kernel"), std::string::npos) << failure.what();
    }
}

// A NaN or an infinity in x spoils the outputs of every tile that holds it, all channels, and not one bit of the
// others; in w the outputs of its channel; in bias it does what it does in a sum.
class TransformSpecialValues : public Transform {
protected:
  void SetUp() override {
    const int64_t KH = 5, KW = 3;
    step_h = v().fft_h - KH + 1, step_w = v().fft_w - KW + 1;
    shape = make(2, 2, 3, step_h + 3, step_w + 2, KH, KW);
    clean = normal_inputs(shape, type(), true);
  }

  /** Compares a run on `changed` inputs with one on the clean ones; `spoilt` says which outputs are not finite. */
  template <class Spoilt> void check_spread(Convolution &convolution, const Inputs &changed, Spoilt spoilt) {
    if (before.size() == 0)
      before = convolution(clean);
    const Elements after = convolution(changed);
    const int64_t OW = shape.OW(), OH = shape.OH();
    size_t wrong = 0, special = 0;
    for (int64_t i = 0; i < shape.y_size(); i++) {
      const bool expected = spoilt(i / (OW * OH * shape.OC), i / (OW * OH) % shape.OC, i / OW % OH, i % OW);
      special += expected;
      wrong += expected ? std::isfinite(after.value(i)) : after.bits(i) != before.bits(i);
    }
    EXPECT_EQ(wrong, 0u) << "of " << shape.y_size() << " outputs, of which " << special << " should be special";
    EXPECT_GT(special, 0u);
  }

  Shape shape;
  int64_t step_h, step_w;
  Inputs clean;
  Elements before; // y of the clean inputs
};

TEST_P(TransformSpecialValues, InXReachTheTilesThatHoldThem) {
  Convolution convolution(shape, v());
  for (double value : {double(NAN), double(INFINITY), -double(INFINITY)})
    for (const auto &[b, ic, h, w] : {std::array<int64_t, 4>{0, 0, 0, 0},
                                      {1, 1, shape.H - 1, shape.W - 1},
                                      {0, 1, step_h + 1, step_w - 1}, // in the overlap of two rows of tiles
                                      {1, 0, 2, step_w + 1}}) {
      Inputs changed = clean;
      changed.x[((b * shape.IC + ic) * shape.H + h) * shape.W + w] = value;
      SCOPED_TRACE(testing::Message() << value << " at " << b << ", " << ic << ", " << h << ", " << w);
      check_spread(convolution, changed, [&, b = b, h = h, w = w](int64_t image, int64_t, int64_t oh, int64_t ow) {
        const int64_t top = oh / step_h * step_h, left = ow / step_w * step_w;
        return image == b && top <= h && h < top + v().fft_h && left <= w && w < left + v().fft_w;
      });
    }
}

TEST_P(TransformSpecialValues, InWReachTheirChannel) {
  Convolution convolution(shape, v());
  for (double value : {double(NAN), double(INFINITY)})
    for (int64_t place : {int64_t(0), shape.terms() + 7, shape.w_size() - 1}) {
      Inputs changed = clean;
      changed.w[place] = value;
      check_spread(convolution, changed,
                   [&](int64_t, int64_t oc, int64_t, int64_t) { return oc == place / shape.terms(); });
    }
}

TEST_P(TransformSpecialValues, InBiasReachTheirChannel) {
  Convolution convolution(shape, v());
  Inputs changed = clean;
  changed.bias[1] = -double(INFINITY);
  check_spread(convolution, changed, [](int64_t, int64_t oc, int64_t, int64_t) { return oc == 1; });
  EXPECT_EQ(convolution(changed).value(shape.OW() * shape.OH()), -double(INFINITY));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Transform); // where no such variant is compiled for the device
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TransformSpecialValues);
INSTANTIATE_TEST_SUITE_P(Variants, Transform, testing::ValuesIn(transform_variants()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Variants, TransformSpecialValues, testing::ValuesIn(transform_variants()),
                         [](const auto &info) { return info.param.name; });

class Product : public testing::TestWithParam<SpectralProduct> {};

// Every product kernel with every tile of float32 of its target; its own steps and tiles, one more and one less.
TEST_P(Product, ServesEveryTile) {
  for (const Variant &v : transform_variants()) {
    if (v.type != Element::f32 || v.target != GetParam().target ||
        (emulated() && !full_run() && v.fft_h * v.fft_w > 16 * 16))
      continue;
    for (int64_t channels : {1, 8, 15, 17, 64}) {
      Shape s;
      s.B = 2, s.IC = channels, s.OC = 66 - channels, s.H = v.fft_h + 2, s.W = v.fft_w + 1, s.KH = 4, s.KW = 5;
      const Inputs in = normal_inputs(s, v.type, true);
      Convolution convolution(s, v.type, v.name + "+" + GetParam().name, HCONV_MATH_FP32);
      EXPECT_TRUE(within_bound(s, convolution.variant(), convolution(in), convolve(s, in), in));
      if (emulated() && !full_run() && channels > 1)
        break;
    }
  }
}

// One chain of 1024 channels would be off by 7e-7: sums are kept in blocks, or the kernel declines.
TEST_P(Product, LongSumsAreAsExactAsShortOnes) {
  if (emulated() && !full_run())
    GTEST_SKIP() << "product_test has long sums";
  for (const Variant &v : transform_variants()) {
    if (v.type != Element::f32 || v.target != GetParam().target || v.fft_h * v.fft_w > 16 * 16)
      continue;
    for (int64_t channels : {257, 512, 600, 1024}) {
      Shape s;
      s.IC = channels, s.OC = 5, s.H = 18, s.W = 17, s.KH = 4, s.KW = 5;
      const Inputs in = normal_inputs(s, v.type, false);
      try {
        Convolution convolution(s, v.type, v.name + "+" + GetParam().name, HCONV_MATH_FP32);
        const Elements y = convolution(in);
        const std::vector<double> exact = convolve(s, in);
        EXPECT_TRUE(within_bound(s, convolution.variant(), y, exact, in));
        EXPECT_LE(relative_error(y, exact), 5e-7) << channels << " channels";
      } catch (const Failure &failure) {
        EXPECT_EQ(v.target, "cuda") << failure.what();
        EXPECT_GT(channels, 384) << failure.what();
        EXPECT_NE(std::string(failure.what()).find("all channels in one chain"), std::string::npos) << failure.what();
      }
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Product);
INSTANTIATE_TEST_SUITE_P(Kernels, Product, testing::ValuesIn(spectral_products()),
                         [](const auto &info) { return info.param.name; });

} // namespace
