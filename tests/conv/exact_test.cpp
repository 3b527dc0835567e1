// Every variant on small integers, where each partial sum is exact in float32: the result must be the exact sum,
// rounded once to the element type, over the shapes of shapes/*.txt, all kernel sizes, and the variant's own tile
// boundaries.
#include "convolution.h"

#include <algorithm>
#include <set>

using namespace hconv_test;

namespace {

class Exact : public testing::TestWithParam<Variant> {
protected:
  /** A block of wgmma computes its whole tile, the largest of all, for any output: seconds a shape on the emulator. */
  static bool large_tile() { return GetParam().algorithm == "wgmma"; }

  /** The kernels of NHWC are those of NCHW but for where they read x and write y: fewer shapes each are enough. */
  static bool thin() { return GetParam().layout == HCONV_LAYOUT_NHWC; }

  /** Runs a list of shapes, as many as the emulator's budget allows: of those that suit the variant it takes every
   * `stride`-th, starting at a place that differs from variant to variant, so that together the variants of a type
   * cover each shape. Bias is on for every other shape and, of neighbouring variants, for the other half.
   *
   * The kernels of the two 16-bit types differ in the element type alone, so `shared` lists are halved between them. */
  void run(std::vector<Shape> shapes, size_t stride = 1, bool shared = false) {
    const Variant &variant = GetParam();
    for (Shape &shape : shapes)
      shape.OC = variant.whole_channels(shape.OC);
    std::vector<size_t> suited;
    for (size_t i = 0; i < shapes.size(); i++)
      if (variant.takes(shapes[i]))
        suited.push_back(i);
    if (variant.split) // its loops are those of a row without a split; split_test.cpp goes through the rest
      stride *= 4;
    if (!emulated() || full_run())
      stride = 1;
    else
      stride = std::min(thin() ? 6 * stride : stride, std::max<size_t>(suited.size(), 1));
    size_t first = size_t(variant.index) % stride, count = 0;
    if (shared && variant.type != Element::f32 && emulated() && !full_run() && 2 * stride <= suited.size()) {
      first += variant.type == Element::f16 ? stride : 0;
      stride *= 2;
    }
    for (size_t turn = first; turn < suited.size(); turn += stride) {
      const size_t i = suited[turn];
      EXPECT_TRUE(exact_on_integers(shapes[i], variant, (i + variant.index) % 2 == 0));
      count++;
    }
    RecordProperty("shapes", int(count));
    EXPECT_GT(count, 0u) << "no shape of the list suits this variant";
  }
};

Shape make(int64_t B, int64_t IC, int64_t OH, int64_t OW, int64_t KH, int64_t KW, int64_t OC) {
  Shape s;
  s.B = B, s.IC = IC, s.H = OH + KH - 1, s.W = OW + KW - 1, s.KH = KH, s.KW = KW, s.OC = OC;
  return s;
}

/** Those of a file (the tests run in the folder that holds shapes/) that the emulator can compute in seconds. */
std::vector<Shape> affordable(const std::string &file) {
  std::vector<Shape> shapes;
  for (const Shape &s : shapes_of_file("shapes/" + file))
    if (!emulated() || s.work() <= 20'000'000)
      shapes.push_back(s);
  return shapes;
}

/** The shapes with kernels that the variant takes, so that none is left out. */
std::vector<Shape> fitted(const Variant &variant, std::vector<Shape> shapes) {
  for (Shape &s : shapes)
    s = variant.fitted(s);
  return shapes;
}

TEST_P(Exact, BasicShapes) {
  run(affordable("basic.txt"));
}
TEST_P(Exact, EdgeShapes) {
  run(affordable("edge.txt"));
}
TEST_P(Exact, RegressionShapes) {
  run(affordable("regressions.txt"), large_tile() ? 4 : 1, true);
}

TEST_P(Exact, AllKernelSizes) {
  const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 16, 32};
  const int64_t channels[] = {3, 1, 4, 17};
  std::vector<Shape> shapes;
  for (int64_t KH : sizes)
    for (int64_t KW : sizes) {
      const size_t i = shapes.size();
      const bool large = KH * KW > 128; // there, two rows of outputs and few channels are enough
      shapes.push_back(make(1, channels[i % (large ? 2 : 4)], large ? 2 : 3, 1 + i % 7, KH, KW, 1 + i % 6));
    }
  run(shapes, large_tile() ? 4 : 2, true);
}

TEST_P(Exact, TileBoundaries) {
  const Variant &v = GetParam();
  const int64_t oc = std::max(v.tile_oc, 1), ow = std::max(v.tile_ow, 1), ic = std::max(v.ic, 1);
  const int64_t oh = std::max(v.tile_oh, 1), taps = std::max(v.kw_tile, 1);
  std::vector<Shape> shapes;
  for (int d : {-1, 0, 1}) {
    shapes.push_back(make(1, 2, 2, ow + d, 2, 3, 3));
    shapes.push_back(make(1, 2, 2, 3, 2, 3, oc + d));
    shapes.push_back(make(1, ic + d, 2, 3, 2, 2, 3));
    shapes.push_back(make(2, 1, oh + d, 3, 1, 2, 3));
    shapes.push_back(make(1, 2, 2, 5, 2, taps + d, 3));
    shapes.push_back(make(1, 2 * ic + d, 1, 2 * ow + d, 1, taps, 2 * oc + d));
  }
  shapes.erase(
      std::remove_if(shapes.begin(), shapes.end(),
                     [](const Shape &s) { return s.OH() < 1 || s.OW() < 1 || s.OC < 1 || s.IC < 1 || s.KW < 1; }),
      shapes.end());
  run(fitted(GetParam(), shapes));
}

TEST_P(Exact, SmallOutputs) {
  const int64_t channels[] = {1, 3, 16, 17}, kernels[] = {1, 3, 8};
  std::vector<Shape> shapes;
  for (int64_t i = 1; i <= 40; i++) {
    const int64_t k = kernels[i % 3];
    const int64_t other = 1 + i * 17 % 40; // each extent meets small and large ones of the other axis
    shapes.push_back(make(1 + i % 2 * 2, channels[i % 4], i, other, k, k, channels[i / 4 % 4]));
    if (full_run())
      shapes.push_back(make(3 - i % 2 * 2, channels[i / 4 % 4], other, i, k, kernels[i / 3 % 3], channels[i % 4]));
  }
  run(fitted(GetParam(), shapes), large_tile() ? 8 : 4, true);
}

TEST_P(Exact, Padding) {
  std::vector<Shape> shapes;
  for (int64_t IC : {1, 5}) {
    for (const hconv_padding &pad : {hconv_padding{1, 1, 1, 1},
                                     {0, 2, 0, 0},
                                     {2, 0, 0, 0},
                                     {0, 0, 3, 1},
                                     {0, 0, 0, 4},
                                     {7, 5, 6, 9}}) { // the last is wider than the kernel: whole outputs see only zeros
      Shape s = make(2, IC, 5, 6, 3, 3, 4);
      s.pad = pad;
      shapes.push_back(s);
    }
  }
  Shape larger_kernel = make(1, 2, 1, 1, 6, 7, 3); // the kernel covers more than x
  larger_kernel.H -= 3, larger_kernel.pad.top = 2, larger_kernel.pad.bottom = 1;
  shapes.push_back(larger_kernel);
  run(fitted(GetParam(), shapes));
}

// Taps of 1, so that a lost or doubled tap, channel or image shows as the wrong count.
TEST_P(Exact, CountsEveryTap) {
  const Variant &v = GetParam();
  const Shape s = v.fitted(make(2, 2 * std::max(v.ic, 1) + 1, 3, 5, 4, 5, 3));
  Inputs ones;
  ones.x.assign(s.x_size(), 1), ones.w.assign(s.w_size(), 1);
  Convolution convolution(s, GetParam());
  EXPECT_TRUE(equals_rounded(s, convolution(ones), std::vector<double>(s.y_size(), double(s.terms()))));
}

// The reduction is no multiple of any tile: what the rounded-up part reads must not matter, whatever lies there.
TEST_P(Exact, SameResultInDirtyMemory) {
  const Shape s = GetParam().fitted(make(1, 5, 3, 7, 3, 3, 3));
  const ExactCase &exact = exact_case(s, false);
  const int rounds = emulated() && !full_run() ? 3 : 100;
  for (int i = 0; i < rounds; i++) {
    Convolution convolution(s, GetParam());
    ASSERT_TRUE(equals_rounded(s, convolution(exact.inputs), exact.y)) << "round " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Exact, testing::ValuesIn(summing_variants()),
                         [](const auto &info) { return info.param.name; });

TEST(Variants, ThereAreSomeOfEveryTypeAndTheirNamesDiffer) {
  std::set<std::string> names;
  std::set<Element> types;
  for (const Variant &v : all_variants()) {
    EXPECT_TRUE(names.insert(v.name).second) << v.name << " is listed twice";
    types.insert(v.type);
  }
  EXPECT_EQ(types.size(), 3u) << "a type has no variant for this device";
}

// What a caller gets who pins nothing.
TEST(Dispatch, IsExactOnAllShapes) {
  for (const char *file : {"basic.txt", "edge.txt"})
    for (const Shape &s : affordable(file))
      for (Element type : all_elements)
        for (hconv_math math : {HCONV_MATH_STRICT, HCONV_MATH_FP32})
          EXPECT_TRUE(exact_on_integers(s, type, math, false));
}

} // namespace
