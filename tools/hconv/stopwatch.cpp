#include "stopwatch.h"

#include "failure.h"

#include <algorithm>
#include <chrono>

namespace hconv::cli {

namespace {

constexpr size_t cache_bytes = size_t(256) << 20;
constexpr double budget_milliseconds = 1000;

} // namespace

Stopwatch::Stopwatch(DLDevice device, bool clear_cache) : device(device) {
  if (device.device_type == kDLCUDA) {
    timer = std::make_unique<CudaTimer>(device.device_id);
    if (clear_cache) {
      cleared = std::make_unique<Memory>(device, cache_bytes, "clearing the L2 cache");
    }
  }
}

double Stopwatch::milliseconds(Convolution &convolution) {
  if (timer == nullptr) {
    const auto start = std::chrono::steady_clock::now();
    convolution.run();
    check(hconv_synchronize(device, nullptr), "waiting for the convolution");
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  if (cleared != nullptr) {
    timer->start_clearing(cleared->data(), cleared->size());
  }
  timer->start();
  convolution.run();
  timer->stop();
  return timer->milliseconds();
}

std::vector<double> Stopwatch::sorted_milliseconds(Convolution &convolution, int repeat) {
  std::vector<double> times;
  double spent = 0;
  while (repeat > 0 ? static_cast<int>(times.size()) < repeat
                    : times.size() < 3 || (times.size() < 50 && spent < budget_milliseconds)) {
    times.push_back(milliseconds(convolution));
    spent += times.back();
  }
  std::sort(times.begin(), times.end());
  return times;
}

double median(const std::vector<double> &sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

} // namespace hconv::cli
