// Scratch memory of generated code: halide_malloc takes it from a piece of the caller's workspace, one piece a thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hconv::runtime {

/// Two cache lines, since processors fetch the second one with the first; no vector is longer.
constexpr int64_t scratch_alignment = 128;

/// Bytes that an allocation of `bytes` takes from a Scratch. Halide asks for a vector more than it needs.
constexpr int64_t scratch_taken(int64_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment + 2 * scratch_alignment;
}

/// A stack of allocations in memory that someone else owns. Not for two threads at once.
class ScratchStack {
public:
  ScratchStack() = default;
  /// `memory` must be a multiple of scratch_alignment.
  ScratchStack(char *memory, int64_t bytes) : memory_(memory), bytes_(bytes) {}

  /// Memory aligned to scratch_alignment, or null if there is not enough left.
  void *take(size_t bytes);
  /// Gives back what take() returned; memory can be taken again when all that was taken later is given back too. False
  /// if `memory` came from elsewhere.
  bool give_back(void *memory);

private:
  struct Header;
  char *memory_ = nullptr;
  int64_t bytes_ = 0, used_ = 0;
  int64_t last_ = -1; ///< offset of the header of the last allocation that is held
};

/// Allocations of generated code that did not come from a ScratchStack, in this process: a test hook.
int64_t scratch_from_malloc();

} // namespace hconv::runtime
