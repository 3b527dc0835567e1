#include "convolution.h"

#include <cmath>
#include <iomanip>
#include <sstream>

namespace hconv_test {

namespace {

/** Elements of [B, C, H, W] in the order of a layout, from those in row-major order; or, with `back`, the reverse. */
Elements reordered(const Elements &from, const std::vector<int64_t> &shape, hconv_layout layout, bool back = false) {
  if (layout == HCONV_LAYOUT_NCHW)
    return from;
  Elements to(from.type(), from.size());
  const size_t C = shape[1], pixels = shape[2] * shape[3];
  for (size_t i = 0; i < from.size(); i++) {
    const size_t p = i % pixels, c = i / pixels % C, b = i / pixels / C, other = (b * pixels + p) * C + c;
    to.set_bits(back ? i : other, from.bits(back ? other : i));
  }
  return to;
}

/** A DLTensor over a buffer, with the storage for its extents. */
struct Tensor {
  GuardedBuffer buffer;
  std::vector<int64_t> extents, strides;
  DLTensor dl;

  /** Of NHWC, 16 bytes are the least alignment that kernels may ask for. */
  Tensor(Element type, std::vector<int64_t> shape, size_t count, int offset, hconv_layout layout = HCONV_LAYOUT_NCHW)
      : buffer(count * bytes_of(type),
               offset >= 0                   ? 64
               : layout == HCONV_LAYOUT_NHWC ? 16
                                             : bytes_of(type),
               std::max(offset, 0) * bytes_of(type)),
        extents(std::move(shape)) {
    if (layout == HCONV_LAYOUT_NHWC)
      strides = {extents[1] * extents[2] * extents[3], 1, extents[3] * extents[1], extents[1]};
    dl = {buffer.data(),
          test_device(),
          int32_t(extents.size()),
          dl_type(type),
          extents.data(),
          strides.empty() ? nullptr : strides.data(),
          0};
  }

  Tensor(const Elements &values, std::vector<int64_t> shape, int offset, hconv_layout layout = HCONV_LAYOUT_NCHW)
      : Tensor(values.type(), std::move(shape), values.size(), offset, layout) {
    buffer.upload(reordered(values, extents, layout).data(), values.size_bytes());
  }
};

void expect_intact(const GuardedBuffer &buffer, const char *name) {
  EXPECT_EQ(buffer.damage(), "") << "beside " << name;
}

/** "y[b=0, oc=1, oh=2, ow=3] is 4 (0x...), expected 5 (0x...)". */
std::string difference(const Shape &s, const Elements &y, size_t i, double expected, const std::string &more) {
  const size_t OW = s.OW(), OH = s.OH(), OC = s.OC;
  std::ostringstream out;
  out << std::setprecision(12) << "y[b=" << i / (OW * OH * OC) << ", oc=" << i / (OW * OH) % OC
      << ", oh=" << i / OW % OH << ", ow=" << i % OW << "] is " << y.value(i) << " (0x" << std::hex << y.bits(i)
      << std::dec << "), expected " << expected << more;
  return out.str();
}

template <class Matches>
testing::AssertionResult compare(const Shape &shape, const Elements &y, const std::vector<double> &expected,
                                 Matches matches) {
  if (y.size() != expected.size())
    return testing::AssertionFailure() << "y has " << y.size() << " elements, expected " << expected.size();
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < y.size(); i++)
    if (!matches(i, y.value(i)) && wrong++ == 0)
      first = i;
  if (!wrong)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "shape " << shape.text() << " " << name(y.type()) << ": " << wrong << " of "
                                     << y.size() << " outputs are wrong, the first is "
                                     << difference(shape, y, first, expected[first], "");
}

} // namespace

Convolution::Convolution(const Shape &shape, Element type, const std::string &variant, hconv_math math,
                         hconv_layout layout)
    : shape_(shape), type_(type), layout_(layout), weights_layout_(layout) {
  hconv_problem problem = {dl_type(type), test_device(), math,     shape.B,  shape.IC,  shape.H,
                           shape.W,       shape.OC,      shape.KH, shape.KW, shape.pad, layout};
  {
    PinnedVariant pinned(variant);
    check(hconv_plan_create(&problem, &plan_), "hconv_plan_create(" + shape.text() + " " + name(type) + ")");
  }
  // A product that is not pinned is the library's choice.
  if (this->variant().compare(0, variant.size(), variant) != 0) {
    const std::string chosen = this->variant();
    hconv_plan_destroy(plan_);
    throw std::runtime_error("HCONV_VARIANT=" + variant + " was planned as " + chosen);
  }
  int64_t y[4];
  hconv_plan_output_shape(plan_, y);
  EXPECT_EQ(std::vector<int64_t>(y, y + 4), (std::vector<int64_t>{shape.B, shape.OC, shape.OH(), shape.OW()}));
  packed_ = std::make_unique<GuardedBuffer>(hconv_plan_packed_bytes(plan_), 32, 16);
  workspace_bytes_ = hconv_plan_workspace_bytes(plan_);
}

Convolution::~Convolution() {
  hconv_plan_destroy(plan_);
}

void Convolution::pack(const Elements &w, Offsets offsets) {
  Tensor weights(w, {shape_.OC, shape_.IC, shape_.KH, shape_.KW}, offsets.w, weights_layout_);
  packed_->poison();
  check(hconv_pack(plan_, &weights.dl, packed_->data(), packed_->size(), nullptr), "hconv_pack");
  check(hconv_synchronize(test_device(), nullptr), "hconv_synchronize");
  expect_intact(weights.buffer, "w");
  expect_intact(*packed_, "the packed weights");
}

Elements Convolution::run(const Elements &x, const Elements &bias, Offsets offsets) {
  Tensor input(x, {shape_.B, shape_.IC, shape_.H, shape_.W}, offsets.x, layout_);
  Tensor added(bias.size() ? bias : Elements(type_, 1), {shape_.OC}, offsets.bias);
  Tensor output(type_, {shape_.B, shape_.OC, shape_.OH(), shape_.OW()}, shape_.y_size(), offsets.y, layout_);
  std::unique_ptr<GuardedBuffer> workspace; // of this run alone: other threads may run the same plan
  if (workspace_bytes_) {
    workspace = std::make_unique<GuardedBuffer>(workspace_bytes_, 32, 16);
    workspace->poison();
  }
  check(hconv_run(plan_, &input.dl, packed_->data(), bias.size() ? &added.dl : nullptr, &output.dl,
                  workspace ? workspace->data() : nullptr, workspace_bytes_, nullptr),
        "hconv_run(" + shape_.text() + ")");
  check(hconv_synchronize(test_device(), nullptr), "hconv_synchronize");
  expect_intact(input.buffer, "x");
  expect_intact(added.buffer, "bias");
  expect_intact(*packed_, "the packed weights");
  expect_intact(output.buffer, "y");
  if (workspace)
    expect_intact(*workspace, "the workspace");
  Elements y(type_, shape_.y_size());
  const std::vector<uint8_t> bytes = output.buffer.download();
  std::copy(bytes.begin(), bytes.end(), y.data());
  return reordered(y, output.extents, layout_, true);
}

Elements Convolution::operator()(const Inputs &inputs, Offsets offsets) {
  pack(Elements(type_, inputs.w), offsets);
  return run(Elements(type_, inputs.x), Elements(type_, inputs.bias), offsets);
}

testing::AssertionResult equals_rounded(const Shape &shape, const Elements &y, const std::vector<double> &exact) {
  std::vector<double> expected(exact.size());
  for (size_t i = 0; i < exact.size(); i++)
    expected[i] = round_to(y.type(), exact[i]);
  return compare(shape, y, expected, [&](size_t i, double value) {
    return value == expected[i] || (std::isnan(value) && std::isnan(expected[i]));
  });
}

testing::AssertionResult within_bound(const Shape &shape, const std::string &variant, const Elements &y,
                                      const std::vector<double> &exact, const Inputs &inputs) {
  const Variant &v = variant_named(variant);
  if (v.transforms()) {
    const std::vector<double> norms = convolve_norms(shape, inputs, v.fft_h, v.fft_w);
    const int products = real_products_of(variant);
    return compare(shape, y, exact, [&](size_t i, double value) {
      // The store rounds some float32 number of this range, and rounding keeps the order.
      const double bound = transform_error_bound(shape, v.fft_h, v.fft_w, products, norms[i]);
      return round_to(y.type(), exact[i] - bound) <= value && value <= round_to(y.type(), exact[i] + bound);
    });
  }
  const std::vector<double> magnitudes = convolve_magnitudes(shape, inputs);
  const bool truncates = v.algorithm == "mma" || v.algorithm == "wgmma";
  return compare(shape, y, exact, [&](size_t i, double value) {
    return std::fabs(value - exact[i]) <= error_bound(shape, y.type(), truncates, exact[i], magnitudes[i]);
  });
}

testing::AssertionResult right_on_integers(const Shape &shape, const std::string &variant, const Elements &y,
                                           const std::vector<double> &exact, const Inputs &inputs) {
  return variant_named(variant).transforms() ? within_bound(shape, variant, y, exact, inputs)
                                             : equals_rounded(shape, y, exact);
}

namespace {

/** `make` plans the convolution; whatever it or the run throws is a failure of this shape. */
template <class Make>
testing::AssertionResult exact_when_made(const Shape &shape, Element type, bool with_bias, Make make) {
  const ExactCase &exact = exact_case(shape, with_bias);
  try {
    const std::unique_ptr<Convolution> convolution = make();
    const Elements y = (*convolution)(exact.inputs);
    return right_on_integers(shape, convolution->variant(), y, exact.y, exact.inputs);
  } catch (const std::exception &error) {
    return testing::AssertionFailure() << "shape " << shape.text() << " " << name(type) << ": " << error.what();
  }
}

} // namespace

testing::AssertionResult exact_on_integers(const Shape &shape, const Variant &variant, bool with_bias) {
  return exact_when_made(shape, variant.type, with_bias, [&] { return std::make_unique<Convolution>(shape, variant); });
}

testing::AssertionResult exact_on_integers(const Shape &shape, Element type, hconv_math math, bool with_bias,
                                           hconv_layout layout) {
  return exact_when_made(shape, type, with_bias,
                         [&] { return std::make_unique<Convolution>(shape, type, "", math, layout); });
}

} // namespace hconv_test
