// Batches beyond the limits of a launch grid, empty batches, the one-call form, and bounded scratch memory.
#include "convolution.h"

#include <cmath>
#include <thread>

using namespace hconv_test;

namespace {

/** hconv_conv2d on guarded buffers. */
Elements one_call(const Shape &s, Element type, const Inputs &in, int64_t byte_offset = 0) {
  const Elements x(type, in.x), w(type, in.w), bias(type, in.bias);
  GuardedBuffer dx(x.size_bytes() + byte_offset, 16), dw(w.size_bytes() + byte_offset, 16);
  GuardedBuffer db(bias.size_bytes() + byte_offset, 16), dy(s.y_size() * bytes_of(type) + byte_offset, 16);
  auto put = [&](GuardedBuffer &to, const Elements &from) {
    std::vector<uint8_t> bytes(byte_offset, 0xff);
    bytes.insert(bytes.end(), from.data(), from.data() + from.size_bytes());
    to.upload(bytes.data(), bytes.size());
  };
  put(dx, x), put(dw, w), put(db, bias);
  int64_t xs[] = {s.B, s.IC, s.H, s.W}, ws[] = {s.OC, s.IC, s.KH, s.KW}, bs[] = {s.OC};
  int64_t ys[] = {s.B, s.OC, s.OH(), s.OW()};
  const uint64_t offset = uint64_t(byte_offset);
  DLTensor tx = {dx.data(), test_device(), 4, dl_type(type), xs, nullptr, offset};
  DLTensor tw = {dw.data(), test_device(), 4, dl_type(type), ws, nullptr, offset};
  DLTensor tb = {db.data(), test_device(), 1, dl_type(type), bs, nullptr, offset};
  DLTensor ty = {dy.data(), test_device(), 4, dl_type(type), ys, nullptr, offset};
  check(hconv_conv2d(&tx, &tw, bias.size() ? &tb : nullptr, &s.pad, HCONV_MATH_FP32, &ty, nullptr), "hconv_conv2d");
  check(hconv_synchronize(test_device(), nullptr), "hconv_synchronize");
  for (const GuardedBuffer *buffer : {&dx, &dw, &db, &dy})
    EXPECT_EQ(buffer->damage(), "");
  const std::vector<uint8_t> bytes = dy.download();
  Elements y(type, s.y_size());
  std::copy(bytes.begin() + byte_offset, bytes.end(), y.data());
  return y;
}

/** Exact on integers, or in the transform domain within the bound; `pin` as for PinnedVariant. */
testing::AssertionResult one_call_is_right(const Shape &s, Element type, bool bias, int64_t byte_offset = 0,
                                           const std::string &pin = "") {
  const ExactCase &exact = exact_case(s, bias);
  const std::string variant = Convolution(s, type, pin, HCONV_MATH_FP32).variant();
  const PinnedVariant pinned(pin);
  return right_on_integers(s, variant, one_call(s, type, exact.inputs, byte_offset), exact.y, exact.inputs);
}

TEST(OneCall, IsExactInEveryType) {
  for (const char *text : {"2,3,10,12,3,3,5", "1,17,9,8,2,5,3,1:0:2:3", "1,1,1,1,1,1,1", "3,4,6,70,3,3,40"}) {
    const Shape s = shape_from_text(text);
    for (Element type : all_elements)
      for (bool bias : {false, true})
        EXPECT_TRUE(one_call_is_right(s, type, bias));
  }
}

TEST(OneCall, TransformsWithAWorkspaceOfItsOwn) {
  const Shape s = shape_from_text("2,3,20,18,5,4,3,1:0:2:3");
  for (const Variant &v : transform_variants())
    EXPECT_TRUE(one_call_is_right(s, v.type, true, bytes_of(v.type), v.name));
}

// The same shape aligned, displaced by byte_offset, aligned; then the other type of the same size.
TEST(OneCall, CachedPlansServeEveryAlignmentAndType) {
  const Shape s = shape_from_text("2,7,13,33,3,3,5");
  for (int round = 0; round < 2; round++)
    for (Element type : {Element::f16, Element::bf16, Element::f32})
      for (int64_t elements : {0, 1, 3, 0})
        EXPECT_TRUE(one_call_is_right(s, type, true, elements * bytes_of(type)))
            << "displaced by " << elements << " elements";
}

TEST(Batch, OfZeroDoesNothing) {
  Shape s = shape_from_text("1,3,100,50,3,3,4");
  s.B = 0;
  for (Element type : all_elements) {
    int64_t xs[] = {0, 3, 100, 50}, ws[] = {4, 3, 3, 3}, ys[] = {0, 4, 98, 48};
    const Elements weights(type, std::vector<double>(s.w_size(), 1));
    GuardedBuffer w(weights.size_bytes(), 16);
    w.upload(weights.data(), weights.size_bytes());
    DLTensor tx = {nullptr, test_device(), 4, dl_type(type), xs, nullptr, 0};
    DLTensor tw = {w.data(), test_device(), 4, dl_type(type), ws, nullptr, 0};
    DLTensor ty = {nullptr, test_device(), 4, dl_type(type), ys, nullptr, 0};
    EXPECT_EQ(hconv_conv2d(&tx, &tw, nullptr, nullptr, HCONV_MATH_FP32, &ty, nullptr), HCONV_OK) << hconv_last_error();
  }
  const Shape next = shape_from_text("1,3,10,5,3,3,4");
  EXPECT_TRUE(exact_on_integers(next, Element::f32, HCONV_MATH_STRICT, false)) << "the call after an empty one";
}

class LargeBatch : public testing::TestWithParam<int64_t> {};

// The grid's y and z end at 65535; an image beyond a limit would come back as the NaN that was there.
TEST_P(LargeBatch, ComputesEveryImage) {
  if (emulated() && !full_run() && GetParam() < 65537)
    GTEST_SKIP() << "in the emulator the first batch beyond the limit and the second one are enough";
  Shape s;
  s.B = GetParam();
  s.IC = s.OC = 4, s.H = s.W = 8, s.KH = s.KW = 3;
  if (emulated())
    s.IC = s.OC = s.H = s.W = s.KH = s.KW = 1;
  // One small set of images over and over, each told apart by the integer it adds up to.
  const Inputs in = integer_inputs(s, false, 3);
  Convolution convolution(s, Element::f32, "", HCONV_MATH_FP32);
  EXPECT_TRUE(right_on_integers(s, convolution.variant(), convolution(in), convolve(s, in), in));
}

INSTANTIATE_TEST_SUITE_P(Limits, LargeBatch, testing::Values(65535, 65536, 65537, 131073));

TEST(LargeKernelBatch, ComputesEveryImage) {
  Shape s;
  s.B = 65537, s.IC = 4, s.OC = 1, s.H = s.W = 32, s.KH = s.KW = 16;
  if (emulated() || !full_run())
    GTEST_SKIP() << "a gigabyte of data: set HCONV_TEST_FULL=1, on the CPU or a GPU";
  const Inputs in = integer_inputs(s, false, 4);
  Convolution convolution(s, Element::f32, "", HCONV_MATH_FP32);
  EXPECT_TRUE(right_on_integers(s, convolution.variant(), convolution(in), convolve(s, in), in));
}

// The direct algorithm needs no scratch memory, but for some of each CPU thread and for the parts of a split sum, and
// packed weights grow only by whole tiles.
TEST(Memory, IsBounded) {
  for (const char *text : {"1,164,17,201,1,3,256", "1,164,17,202,1,3,256", "32,128,7,134,7,7", "1,128,256,256,32,32"}) {
    const Shape s = shape_from_text(text);
    for (const Variant &v : all_variants()) {
      if (!v.takes(s) || v.algorithm != "direct")
        continue;
      Convolution convolution(s, v);
      const size_t minimum = hconv_plan_minimum_workspace_bytes(convolution.plan());
      if (v.split) {
        // float32 of all outputs, a whole number of times, which is that of the parts.
        const std::string name = hconv_plan_variant(convolution.plan());
        const size_t parts = std::stoul(name.substr(name.find('+') + 1)), y = 4 * size_t(s.B * s.OC * s.OH() * s.OW());
        EXPECT_EQ(minimum, (parts * y + 255) / 256 * 256) << name << " " << text;
      } else
        EXPECT_EQ(minimum, 0u) << v.name << " " << text;
      const size_t threads =
          test_device().device_type == kDLCPU ? std::max(1u, std::thread::hardware_concurrency()) : 0;
      EXPECT_LE(hconv_plan_workspace_bytes(convolution.plan()), minimum + (threads << 21)) << v.name << " " << text;
      const size_t bound = size_t((s.OC + v.tile_oc) * (s.IC + v.ic) * s.KH * s.KW * bytes_of(v.type));
      EXPECT_LE(hconv_plan_packed_bytes(convolution.plan()), bound) << v.name << " " << text;
    }
  }
}

} // namespace
