// Every spectral_product variant, called as the library calls it: on the emulated GPU, or a real one, or the CPU.
#include "conv/device.h"
#include "cuda/context.h"
#include "run_context.h"
#include "spectra.h"
#include "variants.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace hconv_test;
namespace runtime = hconv::runtime;

namespace {

/** The variants that run on the device of this test. */
std::vector<runtime::Variant> products() {
  std::vector<runtime::Variant> found;
  for (const runtime::Variant &v : runtime::variants())
    if (v.algorithm == runtime::Algorithm::spectral_product &&
        runtime::is_cuda(v.target) == (test_device().device_type == kDLCUDA))
      found.push_back(v);
  return found;
}

/** One of the product's arguments on the device. */
struct Argument {
  halide_dimension_t dimensions[4];
  halide_buffer_t buffer{};

  Argument(const Spectra &s, const GuardedBuffer &memory) {
    const int extents[4] = {s.inner, 2, s.channels, s.frequencies};
    int stride = 1;
    for (int d = 0; d < 4; stride *= extents[d++])
      dimensions[d] = halide_dimension_t(0, extents[d], stride);
    buffer.dim = dimensions;
    buffer.dimensions = 4;
    buffer.type = halide_type_t(halide_type_float, 32, 1);
    if (test_device().device_type == kDLCUDA)
      buffer.device = reinterpret_cast<uintptr_t>(memory.data());
    else
      buffer.host = static_cast<uint8_t *>(memory.data());
  }
};

class SpectralProduct : public testing::TestWithParam<runtime::Variant> {
protected:
  const runtime::Variant &v = GetParam();
  std::string failure; // of the last call

  int chunks(int count) const { return count * v.ic; }
  int n_tiles(int count) const { return count * v.tile_ow; }
  int oc_tiles(int count) const { return count * v.tile_oc; }

  Spectra multiply(const Spectra &x, const Spectra &w, Spectra y, hconv_status expected = HCONV_OK) {
    GuardedBuffer x_memory(x.bytes(), 256), w_memory(w.bytes(), 256), y_memory(y.bytes(), 256);
    x_memory.upload(x.values.data(), x.bytes());
    w_memory.upload(w.values.data(), w.bytes());
    Argument x_in(x, x_memory), w_in(w, w_memory), y_out(y, y_memory);
    EXPECT_EQ(call(&x_in.buffer, &w_in.buffer, &y_out.buffer), expected) << failure;
    EXPECT_EQ(y_memory.damage(), "");
    const std::vector<uint8_t> bytes = y_memory.download();
    std::memcpy(y.values.data(), bytes.data(), y.bytes());
    return y;
  }

  Spectra multiply(const Spectra &x, const Spectra &w) { return multiply(x, w, {x.inner, w.inner, x.frequencies}); }

  void expect_product(const Spectra &x, const Spectra &w, double bound) {
    const Mismatch m = compare(multiply(x, w), product(x, w), bound);
    EXPECT_EQ(m.count, 0u) << "with " << x.channels << " channels: " << m.first;
  }

private:
  hconv_status call(halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *y) {
    if (test_device().device_type != kDLCUDA) {
      runtime::RunContext run;
      return finish(run, v.product(&run, x, w, y));
    }
    runtime::cuda::ContextRef context;
    check(runtime::cuda::acquire_context(0, &context), "acquire_context");
    hconv_status status;
    {
      runtime::cuda::ContextScope scope(context.handle);
      runtime::RunContext run(context.handle, context.id, nullptr, false);
      status = finish(run, v.product(&run, x, w, y));
    }
    runtime::cuda::release_context(&context);
    return status;
  }

  hconv_status finish(runtime::RunContext &run, int result) {
    const hconv_status status = run.finish(result, v.name);
    failure = status == HCONV_OK ? "" : hconv_last_error();
    return status;
  }
};

TEST_P(SpectralProduct, IntegersAreExactForAnyNumberOfChunks) {
  // Fewer chunks than stages of the pipeline, as many, and more.
  for (int count : {1, 2, 3, 4, 7})
    expect_product(Spectra::integers(n_tiles(1), chunks(count), 1, 1),
                   Spectra::integers(oc_tiles(1), chunks(count), 1, 2), 0);
}

TEST_P(SpectralProduct, IntegersAreExactOverManyTiles) {
  expect_product(Spectra::integers(n_tiles(3), chunks(2), 3, 3), Spectra::integers(oc_tiles(2), chunks(2), 3, 4), 0);
}

TEST_P(SpectralProduct, RealsAreWithinTheBound) {
  const int channels = chunks((600 + v.ic - 1) / v.ic); // long enough for sums in blocks
  expect_product(Spectra::reals(n_tiles(1), channels, 2, 5), Spectra::reals(oc_tiles(1), channels, 2, 6),
                 product_error(channels));
}

TEST_P(SpectralProduct, ATileIsBitwiseTheSameAloneAndAmongOthers) {
  const Spectra x = Spectra::reals(n_tiles(2), chunks(3), 2, 7), w = Spectra::reals(oc_tiles(2), chunks(3), 2, 8);
  Spectra part(n_tiles(1), chunks(3), 2);
  for (int f = 0; f < 2; f++)
    for (int ic = 0; ic < chunks(3); ic++)
      for (int c = 0; c < 2; c++)
        for (int n = 0; n < part.inner; n++)
          part(n, c, ic, f) = x(n + part.inner, c, ic, f);
  const Spectra all = multiply(x, w), alone = multiply(part, w);
  size_t different = 0;
  for (int f = 0; f < 2; f++)
    for (int oc = 0; oc < w.inner; oc++)
      for (int c = 0; c < 2; c++)
        for (int n = 0; n < part.inner; n++)
          different += alone(n, c, oc, f) != all(n + part.inner, c, oc, f);
  EXPECT_EQ(different, 0u);
}

TEST_P(SpectralProduct, ANaNStaysWithItsTileAndFrequency) {
  Spectra x = Spectra::integers(n_tiles(1), chunks(1), 2, 9);
  const Spectra w = Spectra::integers(oc_tiles(1), chunks(1), 2, 10);
  const int n_of_nan = n_tiles(1) - 1;
  x(n_of_nan, 1, chunks(1) - 1, 1) = std::numeric_limits<float>::quiet_NaN();
  const Spectra y = multiply(x, w);
  size_t wrong = 0;
  for (int f = 0; f < 2; f++)
    for (int oc = 0; oc < w.inner; oc++)
      for (int c = 0; c < 2; c++)
        for (int n = 0; n < x.inner; n++)
          wrong += std::isnan(y(n, c, oc, f)) != (n == n_of_nan && f == 1);
  EXPECT_EQ(wrong, 0u);
}

TEST_P(SpectralProduct, ExtentsThatAreNotWholeTilesAreRefused) {
  const Spectra x = Spectra::integers(n_tiles(1), chunks(2), 1, 11),
                w = Spectra::integers(oc_tiles(1), chunks(2), 1, 12);
  const Spectra thin = Spectra::integers(n_tiles(1) - v.tile_ow / 2, chunks(2), 1, 13);
  const Spectra shallow_x = Spectra::integers(n_tiles(1), chunks(2) - 1, 1, 14),
                shallow_w = Spectra::integers(oc_tiles(1), chunks(2) - 1, 1, 15);
  std::vector<std::pair<const Spectra *, const Spectra *>> refused = {{&thin, &w}, {&x, &shallow_w}};
  if (v.ic > 1)
    refused.push_back({&shallow_x, &shallow_w});
  for (const auto &[bad_x, bad_w] : refused) {
    const Spectra y = multiply(*bad_x, *bad_w, {bad_x->inner, bad_w->inner, 1}, HCONV_INTERNAL_ERROR);
    size_t written = 0;
    for (float value : y.values)
      written += !std::isnan(value);
    EXPECT_EQ(written, 0u);
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpectralProduct); // a build may have a manifest without products
INSTANTIATE_TEST_SUITE_P(Variants, SpectralProduct, testing::ValuesIn(products()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
