// The float32 CUDA schedules through Halide's OpenCL back end: the same tiles, loops and staging, none of our passes.
// What is wrong here too is wrong in the schedule; what is wrong only on CUDA is wrong in codegen/.
#include <HalideBuffer.h>
#include <HalideRuntimeOpenCL.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <vector>

extern "C" {
#define HCONV_OPENCL_VARIANT(name, function)                                                                           \
  int function(const void *, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *bias, int32_t has_bias,          \
               int32_t pad_top, int32_t pad_left, halide_buffer_t *y);
#include "opencl_variants.inc"
#undef HCONV_OPENCL_VARIANT
}

namespace {

using Halide::Runtime::Buffer;

constexpr int kSkipped = 77; // tests/opencl/CMakeLists.txt tells CTest

struct Row {
  const char *name;
  int tile_oc, ic, kw, kh_tile;
};

// The manifest: only plain numbers of it are used, so that the identifiers in it need no meaning here.
#define HCONV_VARIANT(name, algorithm, type, target, tile_oc, tile_ow, tile_oh, thread_oc, thread_ow, ic, kw_tile, kw, \
                      stages, warps, min_blocks, thread_oh, kh_tile, ...)                                              \
  {#name, tile_oc, ic, kw, kh_tile},
const Row manifest[] = {
#include "variants.inc"
};
#undef HCONV_VARIANT

using Function = int (*)(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, int32_t, int32_t,
                         int32_t, halide_buffer_t *);

struct Variant {
  const char *name;
  Function function;
  Row row() const {
    return *std::find_if(std::begin(manifest), std::end(manifest),
                         [&](const Row &row) { return std::string(row.name) == name; });
  }
};

const Variant variants[] = {
#define HCONV_OPENCL_VARIANT(name, function) {#name, function},
#include "opencl_variants.inc"
#undef HCONV_OPENCL_VARIANT
};

struct Shape {
  int B, IC, H, W, KH, KW, OC, top = 0, left = 0, bottom = 0, right = 0;
  int OH() const { return H + top + bottom - KH + 1; }
  int OW() const { return W + left + right - KW + 1; }
};

int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/** Small integers with no pattern: every sum of them is exact. */
float integer(int64_t i) {
  return float((i * 2654435761LL >> 7) % 15 - 7);
}

class OpenCL : public testing::TestWithParam<Variant> {
protected:
  void check(const Shape &s, bool with_bias) {
    const Row row = GetParam().row();
    Buffer<float> x(s.W, s.H, s.IC, s.B), w(s.KW, s.KH, s.IC, s.OC), bias(with_bias ? s.OC : 1),
        y(s.OW(), s.OH(), s.OC, s.B);
    int64_t i = 0;
    x.for_each_value([&](float &value) { value = integer(i++); });
    w.for_each_value([&](float &value) { value = integer(i++); });
    bias.for_each_value([&](float &value) { value = with_bias ? integer(i++) : NAN; });
    y.fill(NAN);

    // The layout of packed weights, written down once more: [ICp][KH][KW][OCp], 0 beyond OC and IC.
    Buffer<float> packed(round_up(s.OC, row.tile_oc), s.KW, s.KH, round_up(s.IC, row.ic));
    packed.for_each_element([&](int oc, int kw, int kh, int ic) {
      packed(oc, kw, kh, ic) = oc < s.OC && ic < s.IC ? w(kw, kh, ic, oc) : 0.f;
    });

    for (Buffer<float> *input : {&x, &packed, &bias, &y})
      input->set_host_dirty();
    ASSERT_EQ(GetParam().function(nullptr, x, packed, bias, with_bias, s.top, s.left, y), 0);
    ASSERT_EQ(y.copy_to_host(), 0);
    int wrong = 0;
    y.for_each_element([&](int ow, int oh, int oc, int b) {
      double sum = with_bias ? bias(oc) : 0.0;
      for (int ic = 0; ic < s.IC; ic++)
        for (int kh = 0; kh < s.KH; kh++)
          for (int kw = 0; kw < s.KW; kw++) {
            const int h = oh + kh - s.top, column = ow + kw - s.left;
            if (h >= 0 && h < s.H && column >= 0 && column < s.W)
              sum += double(x(column, h, ic, b)) * w(kw, kh, ic, oc);
          }
      if (y(ow, oh, oc, b) != float(sum) && wrong++ == 0)
        ADD_FAILURE() << "y[b=" << b << ", oc=" << oc << ", oh=" << oh << ", ow=" << ow << "] is " << y(ow, oh, oc, b)
                      << ", expected " << sum;
    });
    EXPECT_EQ(wrong, 0) << "of " << y.number_of_elements() << " outputs";
  }

  // Of variants made for one KW, or for whole chunks of KH, the nearest that they take.
  int kw(int wanted) const { return GetParam().row().kw ? GetParam().row().kw : wanted; }
  int kh(int wanted) const { return round_up(wanted, std::max(GetParam().row().kh_tile, 1)); }
};

TEST_P(OpenCL, MoreThanATileInEveryDirection) {
  check({2, 9, 11, 140, kh(3), kw(3), 70}, true);
}
TEST_P(OpenCL, OneOfEverything) {
  check({1, 1, kh(1), kw(1), kh(1), kw(1), 1}, false);
}
TEST_P(OpenCL, PrimeExtents) {
  check({2, 17, 13, 19, kh(7), kw(11), 5}, true);
}
TEST_P(OpenCL, RectangularKernelWithPadding) {
  check({1, 5, 6, 9, kh(4), kw(6), 3, 2, 3, 1, 4}, true);
}

/** An old PoCL on a processor that its LLVM does not know compiles nothing at all (pocl/pocl#1049: that of
 * Ubuntu 22.04, on AMD's from Zen 3 on). That says nothing about a schedule, so it ends the program as skipped; all
 * else ends it as Halide's own handler would. */
void on_error(void *, const char *message) {
  std::fprintf(stderr, "%s\n", message);
  if (std::strstr(message, "unknown target CPU 'generic'")) {
    std::fprintf(stderr, "Skipped: this PoCL does not know this processor and compiles no program on it.\n");
    std::_Exit(kSkipped);
  }
  std::abort();
}

INSTANTIATE_TEST_SUITE_P(Variants, OpenCL, testing::ValuesIn(variants),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace

int main(int argc, char **argv) {
  // Without private_registers every thread of a block holds the block's whole tile, and PoCL keeps the private memory
  // of a work-group on the stack of its worker threads, which take the default size.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t(256) << 20);
  if (pthread_setattr_default_np(&attributes) != 0)
    return 1;
  halide_set_error_handler(on_error);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
