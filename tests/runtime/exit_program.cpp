// Leaves plans, cached plans and device memory behind, and calls hconv from a static destructor: the process must end
// with 0 and without a word, on any device.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hconv/hconv.hpp"

namespace {

void convolve(DLDevice device) {
  const std::vector<float> ones(36, 1.0f);
  std::vector<float> result(16);
  hconv::Memory x(device, 144), w(device, 36), y(device, 64);
  hconv::check(hconv_copy(x.data(), device, ones.data(), hconv::cpu, 144, nullptr));
  hconv::check(hconv_copy(w.data(), device, ones.data(), hconv::cpu, 36, nullptr));
  hconv::Tensor out(y.data(), {1, 1, 4, 4}, hconv::float32, device);
  hconv::conv2d({x.data(), {1, 1, 6, 6}, hconv::float32, device}, {w.data(), {1, 1, 3, 3}, hconv::float32, device},
                out);
  hconv::check(hconv_copy(result.data(), hconv::cpu, y.data(), device, 64, nullptr));
  for (float value : result)
    if (value != 9.0f) {
      std::fprintf(stderr, "found %g, expected 9\n", value);
      std::_Exit(1);
    }
}

struct AtExit {
  ~AtExit() {
    convolve(hconv::cpu);
    hconv_problem bad{};
    hconv_plan *plan = nullptr;
    if (hconv_plan_create(&bad, &plan) == HCONV_OK || !*hconv_last_error())
      std::_Exit(2);
    hconv_plan_destroy(left_behind);
  }
  hconv_plan *left_behind = nullptr;
} at_exit;

} // namespace

int main() {
  const DLDevice device = hconv::default_device();
  convolve(device);
  hconv::Tensor x(nullptr, {1, 1, 6, 6}, hconv::float32, device), w(nullptr, {1, 1, 3, 3}, hconv::float32, device);
  const hconv_problem problem = hconv::problem(x, w);
  hconv::check(hconv_plan_create(&problem, &at_exit.left_behind));
}
