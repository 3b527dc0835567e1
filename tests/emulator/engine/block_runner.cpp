#include "block_runner.h"

#include "../device/devices.h"
#include "../driver/cuda_api.h"
#include "sanitizer.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace hconv::twin {
__thread ThreadState *current __attribute__((tls_model("initial-exec"))) = nullptr;
}

namespace hconv::emulator {

namespace context = boost::context::detail;

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGuard = 16 * kPage; // more than one page: a frame may skip some
constexpr size_t kStackBytes = HCONV_EMULATOR_ASAN ? size_t(512) << 10 : size_t(128) << 10;
constexpr size_t kSharedAlignment = 128;
constexpr size_t kSharedSpan = (kMaxSharedBytes + 2 * kPage - 1) / kPage * kPage; // usable bytes between guard pages
constexpr unsigned char kPoison = 0xff;

char *map_between_guards(size_t bytes) {
  void *const mapping =
      mmap(nullptr, bytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    throw std::bad_alloc();
  char *const usable = static_cast<char *>(mapping) + kGuard;
  if (mprotect(usable, bytes, PROT_READ | PROT_WRITE) != 0)
    throw std::bad_alloc();
  return usable;
}

void unmap_between_guards(void *usable, size_t bytes) {
  munmap(static_cast<char *>(usable) - kGuard, bytes + 2 * kGuard);
}

} // namespace

std::string to_text(twin::Index3 index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

BlockRunner::BlockRunner() {
  shared_mapping_ = reinterpret_cast<unsigned char *>(map_between_guards(kSharedSpan));
}

BlockRunner::~BlockRunner() {
  for (Fiber &fiber : fibers_)
    unmap_between_guards(fiber.stack.low, fiber.stack.size);
  unmap_between_guards(shared_mapping_, kSharedSpan);
}

void BlockRunner::make_fiber(size_t index) {
  Fiber &fiber = fibers_.emplace_back();
  fiber.runner = this;
  fiber.stack = {map_between_guards(kStackBytes), kStackBytes};
  // Frames at the same offset in every stack would all compete for the same few cache sets.
  fiber.stack_colour = index * 1088 % (16 << 10);
}

void BlockRunner::fiber_main(context::transfer_t from) {
  after_switch(nullptr);
  auto &fiber = *static_cast<Fiber *>(from.data);
  BlockRunner &runner = *fiber.runner;
  runner.scheduler_ = from.fctx;
  const LaunchShape &launch = *runner.launch_;
  launch.kernel->thunk(launch.kernel->function, launch.arguments);
  fiber.copies.land_all();
  fiber.state = FiberState::exited;
  before_switch(nullptr, runner.scheduler_stack_low_, runner.scheduler_stack_size_);
  context::jump_fcontext(runner.scheduler_, nullptr);
  __builtin_unreachable();
}

void BlockRunner::resume(Fiber &fiber) {
  twin::current = &fiber;
  before_switch(&scheduler_fake_stack_, fiber.stack.low, fiber.stack.size);
  const context::transfer_t back = context::jump_fcontext(fiber.context, &fiber);
  after_switch(scheduler_fake_stack_);
  fiber.context = back.fctx;
  twin::current = nullptr;
}

void BlockRunner::suspend(Fiber &fiber) {
  before_switch(&fiber.fake_stack, scheduler_stack_low_, scheduler_stack_size_);
  const context::transfer_t back = context::jump_fcontext(scheduler_, nullptr);
  after_switch(fiber.fake_stack, &scheduler_stack_low_, &scheduler_stack_size_);
  scheduler_ = back.fctx;
}

void BlockRunner::wait_at_barrier(Fiber &fiber) {
  fiber.state = FiberState::at_barrier;
  suspend(fiber);
}

void BlockRunner::wait_in_collective(Fiber &fiber, const Collective &operation) {
  fiber.state = FiberState::at_collective;
  fiber.collective = &operation;
  suspend(fiber);
}

void BlockRunner::async_copy(Fiber &fiber, const AsyncCopy &copy) {
  const auto shared = reinterpret_cast<uintptr_t>(copy.shared);
  const uintptr_t offset = shared - reinterpret_cast<uintptr_t>(shared_);
  const auto size = static_cast<uintptr_t>(copy.size);
  if (copy.bytes < 0 || copy.bytes > copy.size)
    set_failure(&fiber, CUDA_ERROR_LAUNCH_FAILED,
                "cp.async of " + std::to_string(copy.size) + " bytes asks for " + std::to_string(copy.bytes) +
                    " bytes from global memory");
  else if (shared % size != 0 || reinterpret_cast<uintptr_t>(copy.global) % size != 0)
    set_failure(&fiber, CUDA_ERROR_MISALIGNED_ADDRESS,
                "cp.async of " + std::to_string(copy.size) + " bytes: the " +
                    (shared % size != 0 ? "shared" : "global") + " address is not a multiple of the size");
  else if (offset > launch_->shared_bytes || launch_->shared_bytes - offset < size)
    set_failure(&fiber, CUDA_ERROR_ILLEGAL_ADDRESS,
                "cp.async to offset " + std::to_string(static_cast<long long>(offset)) +
                    " does not lie in the block's " + std::to_string(launch_->shared_bytes) +
                    " bytes of shared memory");
  if (failure_)
    abandon(fiber);
  if (happens_early()) {
    land(copy);
    unfenced_.note(index_of(fiber), copy.shared, copy.size);
  } else {
    fiber.copies.issue(copy);
  }
}

void BlockRunner::async_wait(Fiber &fiber, size_t newest_groups_left) {
  const size_t thread = index_of(fiber);
  fiber.copies.wait(newest_groups_left, [&](const AsyncCopy &copy) { unfenced_.note(thread, copy.shared, copy.size); });
}

bool BlockRunner::happens_early() {
  return launch_->copy_timing == CopyTiming::early ||
         (launch_->copy_timing == CopyTiming::mixed && (random_.next() & 1));
}

size_t BlockRunner::index_of(const Fiber &fiber) const {
  const twin::Index3 &t = fiber.thread_index, &n = fiber.block_extent;
  return (size_t(t.z) * n.y + t.y) * n.x + t.x;
}

void BlockRunner::set_failure(const Fiber *fiber, int code, const std::string &text) {
  std::string where = std::string("kernel ") + launch_->kernel->name + ", block " + to_text(block_index_);
  if (fiber)
    where += ", thread " + to_text(fiber->thread_index);
  failure_ = LaunchFailure{code, where + ": " + text};
}

HCONV_EMULATOR_LEAVES_STACK void BlockRunner::abandon(Fiber &fiber) {
  fiber.state = FiberState::failed;
  before_switch(nullptr, scheduler_stack_low_, scheduler_stack_size_);
  context::jump_fcontext(scheduler_, nullptr);
  __builtin_unreachable();
}

HCONV_EMULATOR_LEAVES_STACK void BlockRunner::leave_after_fault(Fiber &fiber, const Fault &fault) {
  fault_ = fault; // the text is the scheduler's: locks and memory are better left alone here
  abandon(fiber);
}

void BlockRunner::start(const LaunchShape &launch, twin::Index3 block_index) {
  launch_ = &launch;
  block_index_ = block_index;
  failure_.reset();
  fault_.reset();
  // Shared memory ends at the guard page, so that the first access past its end faults.
  const size_t padded = (launch.shared_bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
  shared_ = shared_mapping_ + kSharedSpan - padded;
  std::memset(shared_ - kSharedAlignment, kPoison, kSharedAlignment + padded);

  thread_count_ = static_cast<size_t>(launch.block.x) * launch.block.y * launch.block.z;
  while (fibers_.size() < thread_count_)
    make_fiber(fibers_.size());
  products_.start((thread_count_ + kWarpLanes - 1) / kWarpLanes);
  unfenced_.start(shared_, launch.shared_bytes, thread_count_);
  twin::Index3 thread{0, 0, 0};
  for (size_t i = 0; i < thread_count_; ++i) {
    Fiber &fiber = fibers_[i];
    fiber.thread_index = thread;
    fiber.block_index = block_index;
    fiber.block_extent = launch.block;
    fiber.grid_extent = launch.grid;
    fiber.shared = shared_;
    fiber.state = FiberState::ready;
    fiber.collective = nullptr;
    fiber.copies.clear();
    forget_frames(fiber.stack.low, fiber.stack.size);
    fiber.context = context::make_fcontext(fiber.stack.low + fiber.stack.size - fiber.stack_colour,
                                           fiber.stack.size - fiber.stack_colour, fiber_main);
    if (++thread.x == launch.block.x) {
      thread.x = 0;
      if (++thread.y == launch.block.y) {
        thread.y = 0;
        ++thread.z;
      }
    }
  }
}

std::optional<LaunchFailure> BlockRunner::run(const LaunchShape &launch, twin::Index3 block_index, uint64_t seed) {
  random_ = Random(seed);
  start(launch, block_index);
  bool finished = false;
  while (!finished) {
    if (!run_to_barrier())
      break;
    check_barrier(&finished);
    if (failure_)
      break;
  }
  if (!failure_)
    check_shared_canaries();
  if (const std::string left = failure_ ? "" : products_.at_exit(); !left.empty())
    set_failure(nullptr, CUDA_ERROR_LAUNCH_FAILED, left);
  return failure_;
}

void BlockRunner::check_shared_canaries() {
  const auto is_poison = [](unsigned char byte) { return byte == kPoison; };
  if (!std::all_of(shared_ - kSharedAlignment, shared_, is_poison))
    set_failure(nullptr, CUDA_ERROR_ILLEGAL_ADDRESS, "a thread wrote below the start of shared memory");
  else if (!std::all_of(shared_ + launch_->shared_bytes, shared_mapping_ + kSharedSpan, is_poison))
    set_failure(nullptr, CUDA_ERROR_ILLEGAL_ADDRESS,
                "a thread wrote past the end of the " + std::to_string(launch_->shared_bytes) +
                    " bytes of shared memory");
}

void BlockRunner::explain_fault(const Fiber &fiber, const Fault &fault) {
  if (fault.signal == SIGFPE) {
    set_failure(&fiber, CUDA_ERROR_LAUNCH_FAILED, "integer division by zero");
    return;
  }
  // Kernels are compiled with traps on misaligned pointers, and the processor names no address for a misaligned vector.
  if (fault.signal == SIGILL || fault.code == SI_KERNEL) {
    set_failure(&fiber, CUDA_ERROR_MISALIGNED_ADDRESS, "access through a misaligned or impossible address");
    return;
  }
  set_failure(&fiber, CUDA_ERROR_ILLEGAL_ADDRESS, describe_address(fault.address));
}

std::string BlockRunner::describe_address(uintptr_t address) const {
  const std::string device = describe_device_address(address);
  if (!device.empty())
    return "access to device memory " + device;
  const auto shared = reinterpret_cast<uintptr_t>(shared_);
  const auto shared_end = reinterpret_cast<uintptr_t>(shared_mapping_) + kSharedSpan;
  if (address >= shared_end && address < shared_end + kGuard)
    return "access at offset " + std::to_string(address - shared) + " of the block's " +
           std::to_string(launch_->shared_bytes) + " bytes of shared memory";
  for (size_t i = 0; i < thread_count_; ++i) {
    const auto stack_low = reinterpret_cast<uintptr_t>(fibers_[i].stack.low);
    if (address < stack_low && address >= stack_low - kGuard)
      return "the stack of " + std::to_string(fibers_[i].stack.size >> 10) + " KiB overflowed";
  }
  return address < kPage ? "access through a null pointer" : "access to an address that is not device memory";
}

} // namespace hconv::emulator
