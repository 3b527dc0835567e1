#include "launch.h"

#include <atomic>
#include <cfenv>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

namespace hconv::emulator {
namespace {

/// Runners are kept for the next launch: their stacks are mapped and warm.
class RunnerPool {
public:
  std::unique_ptr<BlockRunner> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty())
      return std::make_unique<BlockRunner>();
    std::unique_ptr<BlockRunner> runner = std::move(idle_.back());
    idle_.pop_back();
    return runner;
  }
  void give_back(std::unique_ptr<BlockRunner> runner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(runner));
  }

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockRunner>> idle_;
};

RunnerPool &runner_pool() {
  static RunnerPool *const instance = new RunnerPool; // never destroyed, see registry()
  return *instance;
}

class Grid {
public:
  Grid(const LaunchShape &launch, uint64_t seed) : launch_(launch), seed_(seed) {
    count_ = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
    // Blocks begin in a scattered order: a stride without common divisor visits each once.
    Random random(seed);
    start_ = random.next() % count_;
    do
      stride_ = random.next() % count_ + 1;
    while (std::gcd(stride_, count_) != 1);
  }

  uint64_t count() const { return count_; }

  void work() {
    // A device thread has the default rounding and keeps subnormals, whatever the caller has set.
    std::fenv_t callers;
    std::fegetenv(&callers);
    std::fesetenv(FE_DFL_ENV);
    std::unique_ptr<BlockRunner> runner = runner_pool().take();
    const FaultGuard guard;
    for (uint64_t i = next_++; i < count_ && !failed_; i = next_++) {
      const auto position = static_cast<unsigned __int128>(i) * stride_ + start_;
      const auto number = static_cast<uint64_t>(position % count_);
      const twin::Index3 index{static_cast<unsigned>(number % launch_.grid.x),
                               static_cast<unsigned>(number / launch_.grid.x % launch_.grid.y),
                               static_cast<unsigned>(number / launch_.grid.x / launch_.grid.y)};
      std::optional<LaunchFailure> failure = runner->run(launch_, index, mixed_seed(seed_, number));
      if (failure && !failed_.exchange(true))
        failure_ = std::move(failure);
    }
    runner_pool().give_back(std::move(runner));
    std::fesetenv(&callers);
  }

  std::optional<LaunchFailure> failure() { return std::move(failure_); }

private:
  const LaunchShape &launch_;
  const uint64_t seed_;
  uint64_t count_ = 0, start_ = 0, stride_ = 1;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::optional<LaunchFailure> failure_;
};

} // namespace

std::optional<LaunchFailure> run_grid(const LaunchShape &launch, int host_threads, uint64_t seed) {
  Grid grid(launch, seed);
  std::vector<std::thread> helpers;
  for (int i = 1; i < host_threads && static_cast<uint64_t>(i) < grid.count(); ++i) {
    try {
      helpers.emplace_back([&grid] { grid.work(); });
    } catch (const std::system_error &) {
      break; // fewer threads do the same work
    }
  }
  grid.work();
  for (std::thread &helper : helpers)
    helper.join();
  return grid.failure();
}

} // namespace hconv::emulator
