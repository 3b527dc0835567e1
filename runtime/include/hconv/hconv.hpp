/** hconv for C++: the C API of hconv.h with RAII and exceptions. Header only.
 *
 *     hconv::Tensor x(x_data, {1, 3, 224, 224}), w(w_data, {16, 3, 3, 3}), y(y_data, {1, 16, 222, 222});
 *     hconv::conv2d(x, w, y);
 *
 * or, with the weights packed once:
 *
 *     hconv::Plan plan(hconv::problem(x, w));
 *     hconv::Memory packed(plan.device(), plan.packed_bytes());
 *     hconv::Memory workspace(plan.device(), plan.workspace_bytes());
 *     plan.pack(w, packed.data(), packed.bytes());
 *     plan.run(x, packed.data(), y, nullptr, workspace.data(), workspace.bytes());
 */
#ifndef HCONV_HCONV_HPP
#define HCONV_HCONV_HPP

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "hconv/hconv.h"

namespace hconv {

/** A failed call: what() is the sentence of hconv_last_error(). */
class Error : public std::runtime_error {
public:
  Error(hconv_status status, const char *sentence) : std::runtime_error(sentence), status_(status) {}
  hconv_status status() const { return status_; }

private:
  hconv_status status_;
};

/** Throws Error unless `status` is HCONV_OK. */
inline void check(hconv_status status) {
  if (status != HCONV_OK)
    throw Error(status, hconv_last_error());
}

inline constexpr DLDataType float32 = {kDLFloat, 32, 1};
inline constexpr DLDataType float16 = {kDLFloat, 16, 1};
inline constexpr DLDataType bfloat16 = {kDLBfloat, 16, 1};
inline constexpr DLDevice cpu = {kDLCPU, 0};
inline DLDevice cuda(int ordinal = 0) {
  return {kDLCUDA, ordinal};
}

/** A dense tensor of at most 4 dimensions over memory that the caller owns: row-major, or, of shape {N, C, H, W}, with
 * the channels innermost (HCONV_LAYOUT_NHWC, which is for weights {OC, IC, KH, KW} too). */
class Tensor {
public:
  Tensor(void *data, std::initializer_list<int64_t> shape, DLDataType dtype = float32, DLDevice device = cpu,
         hconv_layout layout = HCONV_LAYOUT_NCHW) {
    if (shape.size() > shape_.size())
      throw Error(HCONV_INVALID_ARGUMENT, "A tensor has more than 4 dimensions; expected at most 4.");
    std::copy(shape.begin(), shape.end(), shape_.begin());
    tensor_ = {data, device, static_cast<int>(shape.size()), dtype, shape_.data(), nullptr, 0};
    if (layout == HCONV_LAYOUT_NCHW)
      return;
    if (shape.size() != 4)
      throw Error(HCONV_INVALID_ARGUMENT, "A tensor of NHWC has not 4 dimensions; expected N, C, H, W.");
    strides_ = {shape_[1] * shape_[2] * shape_[3], 1, shape_[3] * shape_[1], shape_[1]};
    tensor_.strides = strides_.data();
  }
  Tensor(const Tensor &other) { *this = other; }
  Tensor &operator=(const Tensor &other) {
    shape_ = other.shape_;
    strides_ = other.strides_;
    tensor_ = other.tensor_;
    tensor_.shape = shape_.data();
    tensor_.strides = other.tensor_.strides ? strides_.data() : nullptr;
    return *this;
  }
  /** For the C API; valid as long as this object. */
  DLTensor *dl() { return &tensor_; }
  const DLTensor *dl() const { return &tensor_; }

private:
  std::array<int64_t, 4> shape_{}, strides_{};
  DLTensor tensor_{};
};

/** Memory on a device, freed with its owner. */
class Memory {
public:
  Memory(DLDevice device, size_t bytes) : device_(device), bytes_(bytes) { check(hconv_malloc(device, bytes, &data_)); }
  ~Memory() { hconv_free(device_, data_); }
  Memory(Memory &&other) noexcept
      : device_(other.device_), bytes_(std::exchange(other.bytes_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  Memory &operator=(Memory &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  void *data() const { return data_; }
  size_t bytes() const { return bytes_; }

private:
  DLDevice device_;
  size_t bytes_;
  void *data_ = nullptr;
};

/** The problem of convolving x[B,IC,H,W] with w[OC,IC,KH,KW], in the layout of x. */
inline hconv_problem problem(const Tensor &x, const Tensor &w, hconv_padding padding = {},
                             hconv_math math = HCONV_MATH_FP32) {
  hconv_problem result;
  check(hconv_problem_from_tensors(x.dl(), w.dl(), &padding, math, &result));
  return result;
}

/** The caller's threads, for work on the CPU: see hconv_thread_pool. It must outlive the plans that were created with
 * it.
 *
 *     hconv::ThreadPool pool(8, [&](int32_t count, const std::function<void(int32_t)> &task) {
 *       my_threads.for_each(0, count, task);
 *     });
 *     hconv::Plan plan(problem, pool);
 *
 * The loop calls task(i) once for each i below count and returns when all have returned. What it throws arrives as an
 * Error of the call that computes. */
class ThreadPool {
public:
  using Loop = std::function<void(int32_t count, const std::function<void(int32_t)> &task)>;
  /** `is_inside` (may be empty) tells whether the calling thread computes one of the pool's tasks. */
  ThreadPool(int32_t threads, Loop loop, std::function<bool()> is_inside = {})
      : functions_(new Functions{std::move(loop), std::move(is_inside)}) {
    pool_.threads = threads;
    pool_.context = functions_.get();
    pool_.parallel_for = [](void *context, int32_t count, hconv_task task, void *argument) {
      static_cast<Functions *>(context)->loop(count, [=](int32_t i) { task(argument, i); });
      return HCONV_OK;
    };
    if (functions_->is_inside)
      pool_.is_inside = [](void *context) -> int { return static_cast<Functions *>(context)->is_inside(); };
  }
  /** For the C API; valid as long as this object. */
  const hconv_thread_pool *get() const { return &pool_; }

private:
  struct Functions {
    Loop loop;
    std::function<bool()> is_inside;
  };
  std::unique_ptr<Functions> functions_; // an address that a move does not change
  hconv_thread_pool pool_{};
};

/** See hconv_set_thread_pool; the pool must outlive its last use. Null: hconv's own pool again. */
inline void set_thread_pool(const ThreadPool *pool) {
  check(hconv_set_thread_pool(pool ? pool->get() : nullptr));
}

/** hconv_plan with an owner. A moved-from plan may only be destroyed or assigned to. */
class Plan {
public:
  explicit Plan(const hconv_problem &problem) : device_(problem.device) { check(hconv_plan_create(&problem, &plan_)); }
  Plan(const hconv_problem &problem, const ThreadPool &pool) : device_(problem.device) {
    check(hconv_plan_create_with_pool(&problem, pool.get(), &plan_));
  }
  ~Plan() { hconv_plan_destroy(plan_); }
  Plan(Plan &&other) noexcept : device_(other.device_), plan_(std::exchange(other.plan_, nullptr)) {}
  Plan &operator=(Plan &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(plan_, other.plan_);
    return *this;
  }

  DLDevice device() const { return device_; }
  size_t packed_bytes() const { return hconv_plan_packed_bytes(plan_); }
  size_t workspace_bytes() const { return hconv_plan_workspace_bytes(plan_); }
  size_t minimum_workspace_bytes() const { return hconv_plan_minimum_workspace_bytes(plan_); }
  std::string variant() const { return hconv_plan_variant(plan_); }
  std::array<int64_t, 4> output_shape() const {
    std::array<int64_t, 4> shape{};
    hconv_plan_output_shape(plan_, shape.data());
    return shape;
  }
  /** See hconv_pack. */
  void pack(const Tensor &w, void *packed, size_t packed_bytes, void *stream = nullptr) const {
    check(hconv_pack(plan_, w.dl(), packed, packed_bytes, stream));
  }
  /** See hconv_run. */
  void run(const Tensor &x, const void *packed, Tensor &y, const Tensor *bias = nullptr, void *workspace = nullptr,
           size_t workspace_bytes = 0, void *stream = nullptr) const {
    check(hconv_run(plan_, x.dl(), packed, bias ? bias->dl() : nullptr, y.dl(), workspace, workspace_bytes, stream));
  }
  const hconv_plan *get() const { return plan_; }

private:
  DLDevice device_;
  hconv_plan *plan_ = nullptr;
};

/** See hconv_conv2d. */
inline void conv2d(const Tensor &x, const Tensor &w, Tensor &y, const Tensor *bias = nullptr,
                   hconv_padding padding = {}, hconv_math math = HCONV_MATH_FP32, void *stream = nullptr) {
  check(hconv_conv2d(x.dl(), w.dl(), bias ? bias->dl() : nullptr, &padding, math, y.dl(), stream));
}

namespace detail {
/** Calls `produce(text, size)` first for the size, then for the text. */
template <class Produce> std::string whole_text(Produce produce) {
  size_t size = 0;
  hconv_status status = produce(nullptr, &size);
  if (size == 0)
    check(status);
  std::string text(size, '\0');
  check(produce(&text[0], &size));
  text.resize(size - 1);
  return text;
}
} // namespace detail

/** See hconv_explain. */
inline std::string explain(const hconv_problem &problem, hconv_format format = HCONV_TEXT) {
  return detail::whole_text([&](char *text, size_t *size) { return hconv_explain(&problem, format, text, size); });
}

/** See hconv_list. */
inline std::string list(hconv_format format = HCONV_TEXT) {
  return detail::whole_text([&](char *text, size_t *size) { return hconv_list(format, text, size); });
}

/** See hconv_device_name. */
inline std::string device_name(DLDevice device) {
  return detail::whole_text([&](char *text, size_t *size) { return hconv_device_name(device, text, size); });
}

/** See hconv_default_device. */
inline DLDevice default_device() {
  DLDevice device;
  check(hconv_default_device(&device));
  return device;
}

} // namespace hconv

#endif
