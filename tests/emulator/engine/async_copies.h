// The cp.async groups of one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace hconv::emulator {

struct AsyncCopy {
  void *shared;
  const void *global;
  int size;  ///< bytes written: 16, 8 or 4
  int bytes; ///< of them, copied from global; the rest becomes zero
};

/// Copies now. May fault when `global` is not device memory: call it on the fiber.
void land(const AsyncCopy &copy);

/// Copies that were issued and have not landed, oldest first. Committing closes a group; a wait lands all but the
/// newest N closed groups, and never a copy that was not committed: that is what cp.async.wait_group promises.
class AsyncCopies {
public:
  void clear();
  void issue(const AsyncCopy &copy) { copies_.push_back(copy); }
  void commit() { group_ends_.push_back(copies_.size()); }
  void wait(size_t newest_groups_left, const std::function<void(const AsyncCopy &)> &landed);
  /// At thread exit the device lands whatever is left.
  void land_all();

private:
  void land_first(size_t count, const std::function<void(const AsyncCopy &)> &landed);

  std::vector<AsyncCopy> copies_;
  std::vector<size_t> group_ends_; // index into copies_ behind each closed group
};

} // namespace hconv::emulator
