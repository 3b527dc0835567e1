// A DLTensor over host memory that the tests own, and small problems.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "hconv/hconv.h"

namespace hconv_test {

constexpr DLDataType float32 = {kDLFloat, 32, 1};
constexpr DLDataType float16 = {kDLFloat, 16, 1};
constexpr DLDataType bfloat16 = {kDLBfloat, 16, 1};
constexpr DLDevice cpu = {kDLCPU, 0};
constexpr DLDevice cuda0 = {kDLCUDA, 0};
constexpr DLDevice cuda1 = {kDLCUDA, 1};

/// Row-major tensor in host memory, which the fake driver also takes for device memory.
class Tensor {
public:
  explicit Tensor(std::vector<int64_t> shape, DLDataType dtype = float32, DLDevice device = cpu)
      : shape(std::move(shape)), bytes_(static_cast<size_t>(count() * dtype.bits / 8 + 64)) {
    dl = {bytes_.data(), device, static_cast<int>(this->shape.size()), dtype, this->shape.data(), nullptr, 0};
  }
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;

  int64_t count() const {
    int64_t n = 1;
    for (int64_t extent : shape)
      n *= extent;
    return n;
  }
  float *floats() { return reinterpret_cast<float *>(static_cast<char *>(dl.data) + dl.byte_offset); }
  void set_strides(std::vector<int64_t> values) {
    strides = std::move(values);
    dl.strides = strides.data();
  }
  /// Small integers, different from place to place.
  void fill(int seed) {
    for (int64_t i = 0; i < count(); ++i)
      floats()[i] = static_cast<float>((i * 7 + seed * 3) % 11 - 5);
  }
  void fill_with(float value) {
    for (int64_t i = 0; i < count(); ++i)
      floats()[i] = value;
  }

  std::vector<int64_t> shape, strides;
  DLTensor dl;

private:
  std::vector<char> bytes_;
};

/// B2 IC3 H5 W6, OC4 KH2 KW3, no padding: y is 2x4x4x4.
inline hconv_problem small_problem(DLDevice device = cpu) {
  hconv_problem p{};
  p.dtype = float32;
  p.device = device;
  p.math = HCONV_MATH_FP32;
  p.batch = 2;
  p.in_channels = 3;
  p.height = 5;
  p.width = 6;
  p.out_channels = 4;
  p.kernel_height = 2;
  p.kernel_width = 3;
  return p;
}

/// Square images, as many output channels as input channels, no padding.
inline hconv_problem square_problem(DLDevice device, int64_t batch, int64_t channels, int64_t size, int64_t kernel_h,
                                    int64_t kernel_w, DLDataType dtype = float32) {
  hconv_problem p{};
  p.dtype = dtype;
  p.device = device;
  p.batch = batch;
  p.in_channels = p.out_channels = channels;
  p.height = p.width = size;
  p.kernel_height = kernel_h;
  p.kernel_width = kernel_w;
  return p;
}

/// All tensors of small_problem or of another float32 problem, and the exact answer by a plain loop.
struct Case {
  explicit Case(const hconv_problem &p)
      : problem(p), oh(p.height + p.padding.top + p.padding.bottom - p.kernel_height + 1),
        ow(p.width + p.padding.left + p.padding.right - p.kernel_width + 1),
        x({p.batch, p.in_channels, p.height, p.width}, p.dtype, p.device),
        w({p.out_channels, p.in_channels, p.kernel_height, p.kernel_width}, p.dtype, p.device),
        bias({p.out_channels}, p.dtype, p.device), y({p.batch, p.out_channels, oh, ow}, p.dtype, p.device) {
    if (p.dtype.bits == 32) {
      x.fill(1);
      w.fill(2);
      bias.fill(3);
      y.fill_with(-12345);
    }
  }

  std::vector<double> expected(bool with_bias) {
    const hconv_problem &p = problem;
    std::vector<double> result;
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t oc = 0; oc < p.out_channels; ++oc)
        for (int64_t i = 0; i < oh; ++i)
          for (int64_t j = 0; j < ow; ++j) {
            double sum = with_bias ? bias.floats()[oc] : 0;
            for (int64_t ic = 0; ic < p.in_channels; ++ic)
              for (int64_t kh = 0; kh < p.kernel_height; ++kh)
                for (int64_t kw = 0; kw < p.kernel_width; ++kw) {
                  const int64_t h = i + kh - p.padding.top, v = j + kw - p.padding.left;
                  if (h >= 0 && h < p.height && v >= 0 && v < p.width)
                    sum += double(x.floats()[((b * p.in_channels + ic) * p.height + h) * p.width + v]) *
                           w.floats()[((oc * p.in_channels + ic) * p.kernel_height + kh) * p.kernel_width + kw];
                }
            result.push_back(sum);
          }
    return result;
  }
  std::vector<double> found() { return std::vector<double>(y.floats(), y.floats() + y.count()); }

  hconv_problem problem;
  int64_t oh, ow;
  Tensor x, w, bias, y;
};

/// Moves a tensor's elements from where row-major order has them to where channels last has them, or back.
inline void move_channels(Tensor &t, bool last) {
  const int64_t C = t.shape[1], pixels = t.shape[2] * t.shape[3], size = t.dl.dtype.bits / 8;
  auto *data = static_cast<char *>(t.dl.data);
  const std::vector<char> from(data, data + t.count() * size);
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t p = i % pixels, c = i / pixels % C, b = i / pixels / C, there = (b * pixels + p) * C + c;
    std::memcpy(data + (last ? there : i) * size, from.data() + (last ? i : there) * size, static_cast<size_t>(size));
  }
}
/// Channels last, strides included.
inline void make_channels_last(Tensor &t) {
  move_channels(t, true);
  const int64_t C = t.shape[1];
  t.set_strides({C * t.shape[2] * t.shape[3], 1, t.shape[3] * C, C});
}
/// And back.
inline void make_row_major(Tensor &t) {
  move_channels(t, false);
  t.dl.strides = nullptr;
}

/// A plan that is destroyed with its scope.
struct PlanHolder {
  explicit PlanHolder(const hconv_problem &problem, const hconv_thread_pool *pool = nullptr) {
    status = pool ? hconv_plan_create_with_pool(&problem, pool, &plan) : hconv_plan_create(&problem, &plan);
  }
  ~PlanHolder() { hconv_plan_destroy(plan); }
  PlanHolder(const PlanHolder &) = delete;
  PlanHolder &operator=(const PlanHolder &) = delete;
  operator const hconv_plan *() const { return plan; }

  hconv_plan *plan = nullptr;
  hconv_status status;
};

/// 16-byte aligned bytes.
class Bytes {
public:
  explicit Bytes(size_t bytes) : storage_(bytes / 16 + 2), size(bytes) {}
  void *data() { return storage_.data(); }

private:
  struct alignas(16) Block {
    char bytes[16];
  };
  std::vector<Block> storage_;

public:
  size_t size;
};

inline std::string explained(const hconv_problem &problem, hconv_format format) {
  size_t size = 0;
  hconv_explain(&problem, format, nullptr, &size);
  std::string content(size, '\0');
  if (hconv_explain(&problem, format, content.data(), &size))
    return std::string("FAILED: ") + hconv_last_error();
  content.resize(size - 1);
  return content;
}

} // namespace hconv_test
