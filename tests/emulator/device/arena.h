// The memory of one emulated device: a reserved range of addresses, far from anything the host allocates.
//
// Each allocation has pages of its own between inaccessible ones and ends as near to the page above as its alignment
// allows, so that a kernel that leaves it faults. The bytes of those pages that are not the allocation's, and fresh
// memory itself, hold 0xFF: a NaN in every type; a changed one is found later. Freed addresses are not given out again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace hconv::emulator {

struct Allocation {
  uintptr_t begin;
  size_t bytes;
  const void *owner; ///< the context it was made in
};

/// All functions may be called from any thread.
class Arena {
public:
  explicit Arena(int device) : device_(device) {}

  /// `bytes` > 0 of memory, or nothing when more than `capacity` bytes would be in use.
  std::optional<uintptr_t> allocate(size_t bytes, size_t alignment, size_t capacity, const void *owner);

  /// False when `begin` is not the start of a live allocation. `damage` receives a sentence when bytes around the
  /// allocation were overwritten, and is left alone otherwise.
  bool release(uintptr_t begin, std::string *damage);
  void release_all_of(const void *owner);

  /// The live allocation that holds this address.
  std::optional<Allocation> find(uintptr_t address) const;
  /// True when all of [address, address + bytes) lies in one live allocation.
  bool covers(uintptr_t address, size_t bytes) const;
  size_t live_count() const;

  /// A sentence about the first allocation whose surroundings were overwritten; empty when none was.
  std::string find_damage() const;

  /// True when the address belongs to this device's range, live or not.
  bool owns(uintptr_t address) const;
  /// Where an address of this device lies, as "at ..., 4 bytes past the end of an allocation of ... bytes".
  std::string describe(uintptr_t address) const;

private:
  struct Block {
    Allocation user;
    uintptr_t pages; ///< first accessible page
    size_t page_bytes;
  };

  bool reserve();
  std::map<uintptr_t, Block>::const_iterator holder(uintptr_t address) const;
  void unmap(const Block &block);
  std::string damage_of(const Block &block) const;

  const int device_;
  mutable std::mutex mutex_;
  uintptr_t base_ = 0, next_ = 0;
  size_t span_ = 0;
  size_t bytes_in_use_ = 0;
  std::map<uintptr_t, Block> live_;       // by begin
  std::map<uintptr_t, Allocation> freed_; // by begin
};

} // namespace hconv::emulator
