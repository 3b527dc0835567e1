// Runs the threads of one block, as fibers on the calling host thread.
//
// A fiber runs until it exits, waits at the block barrier or waits in a warp collective. Orders are random: warps are
// taken one at a time to the barrier or in turns, and the lanes of a warp in an order that changes at each stop. So a
// missing barrier shows as a wrong result, for some seed at once. Shared memory is filled with 0xFF (a NaN) before.
#pragma once

#include "collectives.h"
#include "fault.h"
#include "fiber.h"
#include "kernel_registry.h"
#include "random.h"
#include "settings.h"
#include "warpgroup_products.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace hconv::emulator {

constexpr size_t kMaxSharedBytes = 232448; // 227 KiB, as on sm_90

struct LaunchShape {
  const Kernel *kernel;
  void *const *arguments;
  twin::Index3 grid, block;
  size_t shared_bytes;
  CopyTiming copy_timing;
};

/// Why a launch failed: the driver's error code (a CUresult) and a sentence.
struct LaunchFailure {
  int code;
  std::string text;
};

class BlockRunner {
public:
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner &) = delete;
  BlockRunner &operator=(const BlockRunner &) = delete;

  /// Empty when the block ran to its end. Must not be called from a fiber.
  std::optional<LaunchFailure> run(const LaunchShape &launch, twin::Index3 block_index, uint64_t seed);

  // The rest is called on the running fiber.

  void wait_at_barrier(Fiber &fiber);
  void wait_in_collective(Fiber &fiber, const Collective &operation);
  void async_copy(Fiber &fiber, const AsyncCopy &copy);
  void async_wait(Fiber &fiber, size_t newest_groups_left);
  void fence_proxy(Fiber &fiber) { unfenced_.fence(index_of(fiber)); }
  /// The way out of the fault handler: see fault.h.
  [[noreturn]] void leave_after_fault(Fiber &fiber, const Fault &fault);

private:
  static void fiber_main(boost::context::detail::transfer_t from);

  void make_fiber(size_t index);
  void start(const LaunchShape &launch, twin::Index3 block_index);
  void resume(Fiber &fiber);
  void suspend(Fiber &fiber);
  bool run_to_barrier();
  void run_lanes(size_t warp);
  bool complete_collective(size_t warp);
  void check_barrier(bool *finished);
  void check_shared_canaries();
  void set_failure(const Fiber *fiber, int code, const std::string &text);
  [[noreturn]] void abandon(Fiber &fiber); // after a failure was set: the fiber never continues
  void explain_fault(const Fiber &fiber, const Fault &fault);
  std::string describe_address(uintptr_t address) const;
  size_t lanes_of(size_t warp) const;
  size_t index_of(const Fiber &fiber) const;
  std::string perform_collective(size_t warp, const Collective *const (&lanes)[kWarpLanes]);
  bool happens_early();

  std::deque<Fiber> fibers_; // grows only; fibers keep their address and their stack
  size_t thread_count_ = 0;
  std::vector<uint32_t> runnable_warps_;
  Random random_{0};
  const LaunchShape *launch_ = nullptr;
  twin::Index3 block_index_{};
  std::optional<LaunchFailure> failure_;
  std::optional<Fault> fault_;
  WarpgroupProducts products_;
  UnfencedWrites unfenced_;

  unsigned char *shared_mapping_ = nullptr;
  unsigned char *shared_ = nullptr;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  void *scheduler_fake_stack_ = nullptr;
  const void *scheduler_stack_low_ = nullptr;
  size_t scheduler_stack_size_ = 0;
};

std::string to_text(twin::Index3 index);

} // namespace hconv::emulator
