// BlockRunner's scheduling: which fiber runs next, and when the waiting ones may go on.
#include "block_runner.h"

#include "../driver/cuda_api.h"

#include <algorithm>
#include <utility>

namespace hconv::emulator {

namespace {

/// How many threads wait where, with the first one of each kind: the text of a divergence message.
class Census {
public:
  void add(const Fiber &fiber) {
    const std::string where = fiber.state == FiberState::exited       ? "exited"
                              : fiber.state == FiberState::at_barrier ? "at __syncthreads"
                                                                      : std::string("at ") + name_of(*fiber.collective);
    for (Entry &entry : entries_) {
      if (entry.where == where) {
        ++entry.count;
        return;
      }
    }
    entries_.push_back({where, 1, fiber.thread_index});
  }

  std::string text() const {
    std::string result;
    for (const Entry &entry : entries_)
      result += (result.empty() ? "" : ", ") + std::to_string(entry.count) + " " + entry.where + " (first: thread " +
                to_text(entry.first) + ")";
    return result;
  }

private:
  struct Entry {
    std::string where;
    int count;
    twin::Index3 first;
  };
  std::vector<Entry> entries_;
};

} // namespace

size_t BlockRunner::lanes_of(size_t warp) const {
  return std::min<size_t>(kWarpLanes, thread_count_ - warp * kWarpLanes);
}

/// Runs until every thread has exited or waits at the block barrier; false when a failure was set.
bool BlockRunner::run_to_barrier() {
  runnable_warps_.resize((thread_count_ + kWarpLanes - 1) / kWarpLanes);
  for (uint32_t i = 0; i < runnable_warps_.size(); ++i) {
    const uint32_t j = random_.below(i + 1);
    runnable_warps_[i] = runnable_warps_[j];
    runnable_warps_[j] = i;
  }
  // Either each warp runs alone as far as it can, or warps take turns between their collectives.
  const bool take_turns = random_.next() & 1;
  while (!runnable_warps_.empty()) {
    const uint32_t count = static_cast<uint32_t>(runnable_warps_.size());
    const uint32_t pick = take_turns ? random_.below(count) : count - 1;
    const uint32_t warp = runnable_warps_[pick];
    run_lanes(warp);
    if (failure_)
      return false;
    if (!complete_collective(warp)) {
      if (failure_)
        return false;
      std::swap(runnable_warps_[pick], runnable_warps_.back());
      runnable_warps_.pop_back();
    }
  }
  return true;
}

void BlockRunner::run_lanes(size_t warp) {
  const size_t count = lanes_of(warp), first = warp * kWarpLanes;
  const uint64_t order = random_.next();
  // A bijection of 0..31 drawn at random: odd multiplier, offset, exclusive or.
  const uint32_t multiplier = static_cast<uint32_t>(order) | 1u, offset = static_cast<uint32_t>(order >> 32),
                 flip = static_cast<uint32_t>(order >> 40);
  for (uint32_t i = 0; i < kWarpLanes; ++i) {
    const uint32_t lane = ((i * multiplier + offset) ^ flip) % kWarpLanes;
    if (lane >= count || fibers_[first + lane].state != FiberState::ready)
      continue;
    Fiber &fiber = fibers_[first + lane];
    resume(fiber);
    if (fault_)
      explain_fault(fiber, *fault_);
    if (failure_)
      return;
  }
}

/// True when the lanes of the warp met in a collective and may go on; false when they all left or wait at the barrier,
/// or when a failure was set.
bool BlockRunner::complete_collective(size_t warp) {
  const size_t count = lanes_of(warp), first = warp * kWarpLanes;
  const Collective *lanes[kWarpLanes] = {};
  const Collective *operation = nullptr;
  size_t waiting = 0, exited = 0;
  bool same = true;
  for (size_t lane = 0; lane < count; ++lane) {
    const Fiber &fiber = fibers_[first + lane];
    if (fiber.state == FiberState::exited)
      ++exited;
    if (fiber.state != FiberState::at_collective)
      continue;
    lanes[lane] = fiber.collective;
    operation = operation ? operation : fiber.collective;
    same = same && operation->same_operation(*fiber.collective);
    ++waiting;
  }
  if (waiting == 0)
    return false;
  // A warp barrier is met by the lanes that are still there; a matrix operation needs all 32.
  const bool complete =
      operation->kind == Collective::Kind::barrier ? waiting + exited == count : waiting == kWarpLanes;
  if (!same || !complete) {
    Census census;
    for (size_t lane = 0; lane < count; ++lane)
      census.add(fibers_[first + lane]);
    set_failure(nullptr, CUDA_ERROR_LAUNCH_FAILED,
                "warp " + std::to_string(warp) + " of " + std::to_string(count) + " lanes diverged at " +
                    name_of(*operation) + ": " + census.text());
    return false;
  }
  if (operation->kind != Collective::Kind::barrier) {
    const std::string refusal = perform_collective(warp, lanes);
    if (!refusal.empty()) {
      set_failure(nullptr, CUDA_ERROR_ILLEGAL_ADDRESS, "warp " + std::to_string(warp) + ": " + refusal);
      return false;
    }
  }
  for (size_t lane = 0; lane < count; ++lane) {
    if (fibers_[first + lane].state == FiberState::at_collective)
      fibers_[first + lane].state = FiberState::ready;
  }
  return true;
}

std::string BlockRunner::perform_collective(size_t warp, const Collective *const (&lanes)[kWarpLanes]) {
  switch (lanes[0]->kind) {
  case Collective::Kind::warpgroup_product:
  case Collective::Kind::warpgroup_fence:
  case Collective::Kind::warpgroup_commit:
  case Collective::Kind::warpgroup_wait:
    return products_.perform(warp, lanes, happens_early(), shared_, launch_->shared_bytes, unfenced_);
  case Collective::Kind::load_matrices:
    products_.registers_written(warp);
    break;
  default:
    break;
  }
  return perform(lanes, shared_, launch_->shared_bytes);
}

/// Releases the block barrier when all threads wait there; sets `finished` when all have exited.
void BlockRunner::check_barrier(bool *finished) {
  size_t exited = 0;
  for (size_t i = 0; i < thread_count_; ++i)
    exited += fibers_[i].state == FiberState::exited;
  if (exited == thread_count_) {
    *finished = true;
    return;
  }
  if (exited != 0) {
    Census census;
    for (size_t i = 0; i < thread_count_; ++i)
      census.add(fibers_[i]);
    set_failure(nullptr, CUDA_ERROR_LAUNCH_FAILED,
                "barrier divergence among " + std::to_string(thread_count_) + " threads: " + census.text());
    return;
  }
  for (size_t i = 0; i < thread_count_; ++i)
    fibers_[i].state = FiberState::ready;
}

} // namespace hconv::emulator

namespace hconv::twin {

namespace {
emulator::Fiber &running() {
  return *static_cast<emulator::Fiber *>(current);
}
} // namespace

void block_barrier() {
  emulator::Fiber &fiber = running();
  fiber.runner->wait_at_barrier(fiber);
}

void warp_barrier() {
  emulator::Fiber &fiber = running();
  emulator::Collective operation{};
  operation.kind = emulator::Collective::Kind::barrier;
  fiber.runner->wait_in_collective(fiber, operation);
}

void warp_multiply_add(Tile tile, float *d, const unsigned *a, const unsigned *b) {
  emulator::Fiber &fiber = running();
  emulator::Collective operation{};
  operation.kind = emulator::Collective::Kind::multiply_add;
  operation.tile = tile;
  operation.d = d;
  operation.a = a;
  operation.b = b;
  fiber.runner->wait_in_collective(fiber, operation);
}

namespace {
void wait_with(emulator::Collective::Kind kind, unsigned *r) {
  emulator::Fiber &fiber = running();
  emulator::Collective operation{};
  operation.kind = kind;
  operation.r = r;
  fiber.runner->wait_in_collective(fiber, operation);
}
} // namespace

void warp_exchange_quad(unsigned *r) {
  wait_with(emulator::Collective::Kind::exchange_quad, r);
}

void warp_transpose_matrix(unsigned *r) {
  wait_with(emulator::Collective::Kind::transpose_matrix, r);
}

void warp_load_matrices(unsigned *r, const void *row, int matrices, bool transposed) {
  emulator::Fiber &fiber = running();
  emulator::Collective operation{};
  operation.kind = emulator::Collective::Kind::load_matrices;
  operation.matrices = matrices;
  operation.transposed = transposed;
  operation.r = r;
  operation.row = row;
  fiber.runner->wait_in_collective(fiber, operation);
}

namespace {
void wait_in(emulator::Collective::Kind kind, int groups_left = 0) {
  emulator::Fiber &fiber = running();
  emulator::Collective operation{};
  operation.kind = kind;
  operation.groups_left = groups_left;
  fiber.runner->wait_in_collective(fiber, operation);
}
} // namespace

void warpgroup_multiply_add(const WarpgroupProduct &product) {
  emulator::Fiber &fiber = running();
  emulator::Collective operation{};
  operation.kind = emulator::Collective::Kind::warpgroup_product;
  operation.product = product;
  fiber.runner->wait_in_collective(fiber, operation);
}

void warpgroup_fence() {
  wait_in(emulator::Collective::Kind::warpgroup_fence);
}

void warpgroup_commit() {
  wait_in(emulator::Collective::Kind::warpgroup_commit);
}

void warpgroup_wait(int newest_groups_left) {
  wait_in(emulator::Collective::Kind::warpgroup_wait, newest_groups_left);
}

void fence_proxy_async() {
  emulator::Fiber &fiber = running();
  fiber.runner->fence_proxy(fiber);
}

unsigned shared_address(const void *p) {
  return unsigned(static_cast<const unsigned char *>(p) - running().shared) + 1024;
}

void async_copy(void *shared, const void *global, int size, int bytes) {
  emulator::Fiber &fiber = running();
  fiber.runner->async_copy(fiber, {shared, global, size, bytes});
}

void async_commit() {
  running().copies.commit();
}

void async_wait(int newest_groups_left) {
  emulator::Fiber &fiber = running();
  fiber.runner->async_wait(fiber, static_cast<size_t>(newest_groups_left));
}

} // namespace hconv::twin
