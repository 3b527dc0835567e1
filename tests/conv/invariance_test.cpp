// Results that must be bitwise the same: run to run, image by image, at any address, beside other threads.
#include "convolution.h"

#include <atomic>
#include <cstring>
#include <thread>

using namespace hconv_test;

namespace {

class Invariance : public testing::TestWithParam<Variant> {
protected:
  /** Misaligned rows on purpose: 7 channels of 13 x 33. */
  Shape odd_shape() const {
    Shape s;
    s.B = 2, s.IC = 7, s.OC = 5, s.H = 13, s.W = 33, s.KH = 3, s.KW = 3;
    return GetParam().fitted(s);
  }

  /** All tensors displaced by n elements; x and y of NHWC by n times the 8 that are read and written at once. */
  static Offsets displaced(int n) {
    const int tensor = GetParam().layout == HCONV_LAYOUT_NHWC ? 8 * n : n;
    return {tensor, n, n, tensor};
  }
};

TEST_P(Invariance, RunToRun) {
  const Shape s = odd_shape();
  const Inputs in = normal_inputs(s, GetParam().type, true);
  Convolution first(s, GetParam()), second(s, GetParam());
  const Elements y = first(in);
  EXPECT_EQ(y, first(in));
  EXPECT_EQ(y, second(in)) << "another plan of the same problem";
}

TEST_P(Invariance, ImagesOfABatchAreTheirOwnResults) {
  Shape batch = odd_shape();
  batch.B = 5;
  Shape single = batch;
  single.B = 1;
  const Element type = GetParam().type;
  const Inputs in = normal_inputs(batch, type, true);
  const Elements x(type, in.x), w(type, in.w), bias(type, in.bias);
  // Of a transform variant with the same product too, which might be another one for another batch.
  Convolution together(batch, GetParam()),
      alone(single, type, together.variant(), GetParam().math(), GetParam().layout);
  together.pack(w);
  alone.pack(w);
  const Elements y = together.run(x, bias);
  for (int64_t n = 0; n < batch.B; n++)
    EXPECT_EQ(y.slice(n * single.y_size(), single.y_size()),
              alone.run(x.slice(n * single.x_size(), single.x_size()), bias))
        << "image " << n;
}

TEST_P(Invariance, AnyElementAlignment) {
  const Shape s = odd_shape();
  const Element type = GetParam().type;
  const Inputs in = normal_inputs(s, type, true);
  Convolution convolution(s, GetParam());
  const Elements aligned = convolution(in, Offsets::all(0));
  EXPECT_TRUE(within_bound(s, convolution.variant(), aligned, convolve(s, in), in));
  std::vector<int> offsets = {1, 2, 3};
  if (type != Element::f32)
    offsets.insert(offsets.end(), {4, 7});
  for (int n : offsets) {
    const Offsets all = displaced(n);
    EXPECT_EQ(aligned, convolution(in, {all.x, 0, 0, 0})) << "x displaced by " << n << " elements";
    EXPECT_EQ(aligned, convolution(in, {0, n, 0, 0})) << "w displaced by " << n << " elements";
    EXPECT_EQ(aligned, convolution(in, {0, 0, n, 0})) << "bias displaced by " << n << " elements";
    EXPECT_EQ(aligned, convolution(in, {0, 0, 0, all.y})) << "y displaced by " << n << " elements";
    EXPECT_EQ(aligned, convolution(in, all)) << "all displaced by " << n << " elements";
  }
  EXPECT_EQ(aligned, convolution(in, Offsets::all(0))) << "aligned again";
}

// Even row lengths, where a displaced base is all that spoils a wide access.
TEST_P(Invariance, AnyElementAlignmentOfWholeRows) {
  Shape s;
  s.B = 2, s.IC = 8, s.OC = 8, s.H = 6, s.KH = 2, s.W = 64;
  s = GetParam().fitted(s);
  const Inputs in = normal_inputs(s, GetParam().type, true);
  Convolution convolution(s, GetParam());
  const Elements aligned = convolution(in, Offsets::all(0));
  EXPECT_TRUE(within_bound(s, convolution.variant(), aligned, convolve(s, in), in));
  for (int n : {1, 2, 3, 4})
    EXPECT_EQ(aligned, convolution(in, displaced(n))) << "all displaced by " << n << " elements";
}

INSTANTIATE_TEST_SUITE_P(Variants, Invariance, testing::ValuesIn(without_twins(all_variants())),
                         [](const auto &info) { return info.param.name; });

// A plan is shared, everything else is each thread's own; the first CUDA call of a thread is ours.
TEST(Threads, ShareOnePlan) {
  Shape s;
  s.B = 2, s.IC = 3, s.OC = 4, s.H = 9, s.W = 11, s.KH = 3, s.KW = 3;
  const Inputs in = normal_inputs(s, Element::f32, true);
  Convolution convolution(s, Element::f32, "", HCONV_MATH_FP32);
  const Elements y = convolution(in);
  const Elements x(Element::f32, in.x), bias(Element::f32, in.bias);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  const int count = 16, rounds = emulated() ? 3 : 50;
  for (int t = 0; t < count; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; i++)
        right += convolution.run(x, bias) == y;
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(right, count * rounds);
}

TEST(Threads, MakeTheirFirstCallTogether) {
  const int count = 32;
  std::atomic<int> right{0}, ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; t++)
    threads.emplace_back([&, t] {
      Shape s;
      s.IC = 1 + t % 5, s.OC = 3, s.H = 7, s.W = 8 + t % 3, s.KH = 3, s.KW = 2;
      const Element type = all_elements[t % 3];
      const ExactCase &exact = exact_case(s, false);
      hconv_problem problem = {dl_type(type), test_device(), HCONV_MATH_FP32,  s.B, s.IC, s.H, s.W, s.OC, s.KH,
                               s.KW,          s.pad,         HCONV_LAYOUT_NCHW};
      ready++;
      while (ready < count)
        std::this_thread::yield();
      hconv_plan *plan = nullptr;
      if (hconv_plan_create(&problem, &plan) != HCONV_OK)
        return;
      GuardedBuffer x(s.x_size() * bytes_of(type), 16), w(s.w_size() * bytes_of(type), 16);
      GuardedBuffer y(s.y_size() * bytes_of(type), 16), packed(hconv_plan_packed_bytes(plan), 16);
      GuardedBuffer workspace(hconv_plan_workspace_bytes(plan), 16);
      const Elements ex(type, exact.inputs.x), ew(type, exact.inputs.w);
      x.upload(ex.data(), ex.size_bytes());
      w.upload(ew.data(), ew.size_bytes());
      int64_t xs[] = {s.B, s.IC, s.H, s.W}, ws[] = {s.OC, s.IC, s.KH, s.KW}, ys[] = {s.B, s.OC, s.OH(), s.OW()};
      DLTensor dx = {x.data(), test_device(), 4, dl_type(type), xs, nullptr, 0};
      DLTensor dw = {w.data(), test_device(), 4, dl_type(type), ws, nullptr, 0};
      DLTensor dy = {y.data(), test_device(), 4, dl_type(type), ys, nullptr, 0};
      if (hconv_pack(plan, &dw, packed.data(), packed.size(), nullptr) == HCONV_OK &&
          hconv_run(plan, &dx, packed.data(), nullptr, &dy, workspace.data(), workspace.size(), nullptr) == HCONV_OK &&
          hconv_synchronize(test_device(), nullptr) == HCONV_OK) {
        const std::vector<uint8_t> bytes = y.download();
        Elements result(type, s.y_size());
        std::memcpy(result.data(), bytes.data(), bytes.size());
        right += bool(equals_rounded(s, result, exact.y)) && y.damage().empty();
      }
      hconv_plan_destroy(plan);
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(right, count);
}

} // namespace
