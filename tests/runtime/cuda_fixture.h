// Device state of the fake driver, as each test wants to find it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake/fake_cuda.h"
#include "runtime/plan_cache.h"
#include "tensor.h"

namespace hconv_test {

class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    hconv::runtime::clear_plan_cache();
    fake_cuda_set_current(nullptr);
    fake_cuda_capture(nullptr);
    fake_cuda_set_capability(90);
    fake_cuda_reset_calls();
  }
  void TearDown() override { fake_cuda_set_current(nullptr); }

  static int64_t calls(const char *name) { return fake_cuda_calls(name); }
};

inline hconv_status convolve(Case &c, void *stream = nullptr) {
  return hconv_conv2d(&c.x.dl, &c.w.dl, &c.bias.dl, &c.problem.padding, c.problem.math, &c.y.dl, stream);
}

} // namespace hconv_test
