#include "async_copies.h"

#include <cstring>

namespace hconv::emulator {

void land(const AsyncCopy &copy) {
  if (copy.bytes > 0)
    std::memcpy(copy.shared, copy.global, static_cast<size_t>(copy.bytes));
  std::memset(static_cast<char *>(copy.shared) + copy.bytes, 0, static_cast<size_t>(copy.size - copy.bytes));
}

void AsyncCopies::clear() {
  copies_.clear();
  group_ends_.clear();
}

void AsyncCopies::land_first(size_t count, const std::function<void(const AsyncCopy &)> &landed) {
  for (size_t i = 0; i < count; ++i) {
    land(copies_[i]);
    if (landed)
      landed(copies_[i]);
  }
  copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(count));
}

void AsyncCopies::wait(size_t newest_groups_left, const std::function<void(const AsyncCopy &)> &landed) {
  if (group_ends_.size() <= newest_groups_left)
    return;
  const size_t groups = group_ends_.size() - newest_groups_left;
  const size_t count = group_ends_[groups - 1];
  land_first(count, landed);
  group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(groups));
  for (size_t &end : group_ends_)
    end -= count;
}

void AsyncCopies::land_all() {
  land_first(copies_.size(), {});
  group_ends_.clear();
}

} // namespace hconv::emulator
