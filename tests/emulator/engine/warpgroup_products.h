// wgmma: the asynchronous matrix products of a block's warpgroups.
#pragma once

#include "collectives.h"

#include <array>
#include <cstdint>
#include <vector>

namespace hconv::emulator {

/// The 16-byte pieces of shared memory that threads wrote by cp.async and have not shown to the asynchronous proxy by a
/// fence since. (Plain stores are not followed.)
class UnfencedWrites {
public:
  void start(const unsigned char *shared, size_t shared_bytes, size_t threads);
  void note(size_t thread, const void *address, int bytes);
  void fence(size_t thread);
  bool holds(size_t offset) const { return writer_[offset / 16] != 0; }

private:
  const unsigned char *shared_ = nullptr;
  std::vector<uint32_t> writer_;               // thread + 1 of each piece
  std::vector<std::vector<uint32_t>> written_; // pieces of each thread
};

/// The products under way. Each warp computes its own 16 rows. A product happens at its call or as late as the wait for
/// its group, in order; only then are A, B and the sums used.
class WarpgroupProducts {
public:
  void start(size_t warps);
  /// lanes[l] is the operation that lane l of `warp` waits in. Returns a sentence when the device would compute
  /// nonsense or refuse; else an empty string.
  std::string perform(size_t warp, const Collective *const (&lanes)[kWarpLanes], bool early, unsigned char *shared,
                      size_t shared_bytes, const UnfencedWrites &unfenced);
  /// The warp wrote registers that a product may use.
  void registers_written(size_t warp) { warps_[warp].fenced = false; }
  /// Empty, or what is wrong at the block's end.
  std::string at_exit() const;

private:
  struct Product {
    twin::WarpgroupProduct lanes[kWarpLanes];
  };
  struct Warp {
    std::vector<Product> pending;
    std::vector<size_t> group_ends; // index into pending behind each closed group
    bool fenced = false;
    size_t issued = 0;
  };

  std::string issue(size_t warp, const Collective *const (&lanes)[kWarpLanes]);

  std::vector<Warp> warps_;
  using Descriptors = std::array<uint64_t, 2>;        // of A, 0 where it comes from registers, and of B
  std::vector<std::vector<Descriptors>> descriptors_; // of each warpgroup's products, in order
};

} // namespace hconv::emulator
