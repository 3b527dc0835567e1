#include "arena.h"

#include <cstdio>
#include <cstring>
#include <sys/mman.h>

namespace hconv::emulator {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kPoison = 0xff;

size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// First byte of [begin, end) that is not poison, or end.
uintptr_t first_changed(uintptr_t begin, uintptr_t end) {
  while (begin < end && *reinterpret_cast<const unsigned char *>(begin) == kPoison)
    ++begin;
  return begin;
}

std::string hexadecimal(uintptr_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace

bool Arena::reserve() {
  if (base_ != 0)
    return true;
  // Address space only. Less of it where the process may not have so much.
  for (size_t span = size_t(1) << 40; span >= size_t(1) << 32; span >>= 2) {
    void *const range = mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
      continue;
    base_ = reinterpret_cast<uintptr_t>(range);
    span_ = span;
    next_ = base_ + kPage;
    return true;
  }
  return false;
}

std::optional<uintptr_t> Arena::allocate(size_t bytes, size_t alignment, size_t capacity, const void *owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > capacity || bytes_in_use_ > capacity - bytes || !reserve())
    return std::nullopt;
  const size_t page_bytes = round_up(round_up(bytes, alignment), kPage);
  if (page_bytes + kPage > base_ + span_ - next_)
    return std::nullopt;
  auto *const pages = reinterpret_cast<unsigned char *>(next_);
  if (mprotect(pages, page_bytes, PROT_READ | PROT_WRITE) != 0)
    return std::nullopt;
  std::memset(pages, kPoison, page_bytes);
  const uintptr_t begin = next_ + page_bytes - round_up(bytes, alignment);
  live_[begin] = Block{{begin, bytes, owner}, next_, page_bytes};
  bytes_in_use_ += bytes;
  next_ += page_bytes + kPage;
  return begin;
}

void Arena::unmap(const Block &block) {
  // A fresh mapping in place: gives the pages back and makes every later access fault.
  mmap(reinterpret_cast<void *>(block.pages), block.page_bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  bytes_in_use_ -= block.user.bytes;
  freed_[block.user.begin] = block.user;
}

bool Arena::release(uintptr_t begin, std::string *damage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(begin);
  if (found == live_.end())
    return false;
  const std::string text = damage_of(found->second);
  if (!text.empty())
    *damage = text;
  unmap(found->second);
  live_.erase(found);
  return true;
}

void Arena::release_all_of(const void *owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto i = live_.begin(); i != live_.end();) {
    if (i->second.user.owner == owner) {
      unmap(i->second);
      i = live_.erase(i);
    } else {
      ++i;
    }
  }
}

std::map<uintptr_t, Arena::Block>::const_iterator Arena::holder(uintptr_t address) const {
  auto next = live_.upper_bound(address);
  if (next == live_.begin())
    return live_.end();
  const auto candidate = std::prev(next);
  return address - candidate->first < candidate->second.user.bytes ? candidate : live_.end();
}

std::optional<Allocation> Arena::find(uintptr_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = holder(address);
  return found == live_.end() ? std::nullopt : std::optional<Allocation>(found->second.user);
}

bool Arena::covers(uintptr_t address, size_t bytes) const {
  const std::optional<Allocation> allocation = find(address);
  return allocation && bytes <= allocation->bytes - (address - allocation->begin);
}

size_t Arena::live_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return live_.size();
}

std::string Arena::damage_of(const Block &block) const {
  const uintptr_t begin = block.user.begin, end = begin + block.user.bytes, page_end = block.pages + block.page_bytes;
  const std::string what = "the allocation of " + std::to_string(block.user.bytes) + " bytes at " + hexadecimal(begin);
  const uintptr_t below = first_changed(block.pages, begin);
  if (below != begin)
    return "memory was written " + std::to_string(begin - below) + " bytes below " + what;
  const uintptr_t above = first_changed(end, page_end);
  if (above != page_end)
    return "memory was written " + std::to_string(above - end) + " bytes past the end of " + what;
  return {};
}

std::string Arena::find_damage() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto &[begin, block] : live_) {
    std::string text = damage_of(block);
    if (!text.empty())
      return text;
  }
  return {};
}

bool Arena::owns(uintptr_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return base_ != 0 && address - base_ < span_;
}

std::string Arena::describe(uintptr_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string start = "at " + hexadecimal(address) + " of device " + std::to_string(device_);
  const auto of_size = [](const Allocation &a) {
    return "an allocation of " + std::to_string(a.bytes) + " bytes at " + hexadecimal(a.begin);
  };
  // Freed memory first: nothing else lies there any more.
  const auto next_freed = freed_.upper_bound(address);
  if (next_freed != freed_.begin()) {
    const Allocation &a = std::prev(next_freed)->second;
    if (address - a.begin < a.bytes)
      return start + ", in " + of_size(a) + " that was freed";
  }
  const auto next = live_.upper_bound(address);
  std::string nearest;
  uintptr_t distance = UINTPTR_MAX;
  if (next != live_.begin()) {
    const Allocation &a = std::prev(next)->second.user;
    if (address - a.begin < a.bytes)
      return start + ", inside " + of_size(a);
    distance = address - (a.begin + a.bytes);
    nearest = std::to_string(distance) + " bytes past the end of " + of_size(a);
  }
  if (next != live_.end() && next->first - address < distance)
    nearest = std::to_string(next->first - address) + " bytes below " + of_size(next->second.user);
  return nearest.empty() ? start + ", where nothing is allocated" : start + ", " + nearest;
}

} // namespace hconv::emulator
