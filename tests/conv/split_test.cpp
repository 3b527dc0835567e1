// Split variants in every number of parts: down to one step a part, fewer steps than the pipeline has stages, and one
// part, beside what the other suites see of the number that the library chooses.
#include "convolution.h"

using namespace hconv_test;

namespace {

class Split : public testing::TestWithParam<Variant> {
protected:
  /** Twelve steps of channels, the last one not full; tiles that are not full in any direction. */
  Shape twelve_steps() const {
    const Variant &v = GetParam();
    Shape s;
    s.B = 2, s.IC = 12 * v.ic - 1, s.OC = 5, s.H = 4, s.W = 5, s.KH = 1, s.KW = 1;
    return v.fitted(s);
  }
  std::string name(int parts) const { return GetParam().name + "+" + std::to_string(parts); }
};

TEST_P(Split, IsExactInEveryNumberOfParts) {
  const Shape s = twelve_steps();
  for (int parts : {1, 2, 3, 4, 6, 12}) {
    Convolution convolution(s, GetParam().type, name(parts), GetParam().math());
    EXPECT_EQ(convolution.variant(), name(parts));
    const ExactCase &exact = exact_case(s, parts % 2 == 0);
    EXPECT_TRUE(equals_rounded(s, convolution(exact.inputs), exact.y)) << parts << " parts";
  }
}

TEST_P(Split, IsTheSameBitsRunToRunAndImageByImage) {
  const Shape batch = twelve_steps();
  Shape single = batch;
  single.B = 1;
  const Element type = GetParam().type;
  const Inputs in = normal_inputs(batch, type, true);
  const Elements x(type, in.x), w(type, in.w), bias(type, in.bias);
  Convolution together(batch, type, name(6), GetParam().math()), alone(single, type, name(6), GetParam().math());
  together.pack(w);
  alone.pack(w);
  const Elements y = together.run(x, bias);
  EXPECT_TRUE(within_bound(batch, together.variant(), y, convolve(batch, in), in));
  EXPECT_EQ(y, together.run(x, bias)) << "run to run";
  for (int64_t n = 0; n < batch.B; n++)
    EXPECT_EQ(y.slice(n * single.y_size(), single.y_size()),
              alone.run(x.slice(n * single.x_size(), single.x_size()), bias))
        << "image " << n;
}

// Packed weights do not know into how many parts a sum is split.
TEST_P(Split, PacksTheSameWeightsForAnyNumberOfParts) {
  const Shape s = twelve_steps();
  const ExactCase &exact = exact_case(s, true);
  const Elements w(GetParam().type, exact.inputs.w);
  GuardedBuffer from(w.size_bytes(), 16);
  from.upload(w.data(), w.size_bytes());
  int64_t extents[] = {s.OC, s.IC, s.KH, s.KW};
  DLTensor tensor = {from.data(), test_device(), 4, dl_type(GetParam().type), extents, nullptr, 0};
  std::vector<uint8_t> packed[2];
  for (int i : {0, 1}) {
    Convolution convolution(s, GetParam().type, name(i ? 12 : 1), GetParam().math());
    GuardedBuffer to(hconv_plan_packed_bytes(convolution.plan()), 16);
    ASSERT_EQ(hconv_pack(convolution.plan(), &tensor, to.data(), to.size(), nullptr), HCONV_OK) << hconv_last_error();
    ASSERT_EQ(hconv_synchronize(test_device(), nullptr), HCONV_OK);
    packed[i] = to.download();
  }
  EXPECT_EQ(packed[0], packed[1]);
}

INSTANTIATE_TEST_SUITE_P(Variants, Split, testing::ValuesIn(split_variants()),
                         [](const auto &info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Split); // the CPU has none

} // namespace
