#include "scratch.h"

#include <atomic>
#include <cstdlib>

#include "HalideRuntime.h"
#include "run_context.h"

namespace hconv::runtime {
namespace {

std::atomic<int64_t> allocated{0};

void *from_malloc(size_t bytes) {
  allocated.fetch_add(1, std::memory_order_relaxed);
  const size_t unit = scratch_alignment;
  return bytes > SIZE_MAX - unit ? nullptr : std::aligned_alloc(unit, (bytes + unit) / unit * unit);
}

} // namespace

// In front of each allocation, in a unit of its own.
struct ScratchStack::Header {
  int64_t before;  ///< last_ before this one
  bool given_back; ///< but a later one is still held
};

void *ScratchStack::take(size_t bytes) {
  const int64_t left = bytes_ - used_ - scratch_alignment;
  if (left < 0 || bytes > static_cast<size_t>(left))
    return nullptr;
  auto *header = reinterpret_cast<Header *>(memory_ + used_);
  *header = {last_, false};
  last_ = used_;
  used_ +=
      scratch_alignment + (static_cast<int64_t>(bytes) + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
  return reinterpret_cast<char *>(header) + scratch_alignment;
}

bool ScratchStack::give_back(void *memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory), first = reinterpret_cast<uintptr_t>(memory_);
  if (address < first || address >= first + static_cast<uintptr_t>(bytes_))
    return false;
  reinterpret_cast<Header *>(static_cast<char *>(memory) - scratch_alignment)->given_back = true;
  while (last_ >= 0) {
    const auto *header = reinterpret_cast<const Header *>(memory_ + last_);
    if (!header->given_back)
      break;
    used_ = last_;
    last_ = header->before;
  }
  return true;
}

int64_t scratch_from_malloc() {
  return allocated.load(std::memory_order_relaxed);
}

} // namespace hconv::runtime

// Strong definitions in place of the Halide runtime's weak ones.
extern "C" {

void *halide_malloc(void *user_context, size_t bytes) {
  using namespace hconv::runtime;
  if (Lane *lane = Lane::from(user_context))
    if (void *memory = lane->scratch.take(bytes))
      return memory;
  return from_malloc(bytes);
}

void halide_free(void *user_context, void *memory) {
  using namespace hconv::runtime;
  Lane *lane = Lane::from(user_context);
  if (!lane || !lane->scratch.give_back(memory))
    std::free(memory);
}
}
