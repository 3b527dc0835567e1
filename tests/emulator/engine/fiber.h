// One CUDA thread: its own stack, what it waits for, and its asynchronous copies still under way.
#pragma once

#include "async_copies.h"
#include "hconv_target.h"

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

namespace hconv::emulator {

class BlockRunner;

/// An operation that a whole warp makes together. Lives on the calling fiber's stack while it waits.
struct Collective {
  enum class Kind {
    barrier,
    load_matrices,
    multiply_add,
    exchange_quad,
    transpose_matrix,
    warpgroup_product,
    warpgroup_fence,
    warpgroup_commit,
    warpgroup_wait
  };
  Kind kind;

  twin::Tile tile; // multiply_add
  float *d;
  const unsigned *a, *b;

  int matrices; // load_matrices
  bool transposed;
  unsigned *r; // of exchange_quad and transpose_matrix, too
  const void *row;

  twin::WarpgroupProduct product; // warpgroup_product
  int groups_left;                // warpgroup_wait

  bool same_operation(const Collective &other) const {
    return kind == other.kind && (kind != Kind::multiply_add || tile == other.tile) &&
           (kind != Kind::load_matrices || (matrices == other.matrices && transposed == other.transposed)) &&
           (kind != Kind::warpgroup_product ||
            (product.descriptor == other.product.descriptor && product.a_descriptor == other.product.a_descriptor)) &&
           (kind != Kind::warpgroup_wait || groups_left == other.groups_left);
  }
};

struct Stack {
  char *low = nullptr; ///< lowest usable byte; a guard page lies below
  size_t size = 0;
};

enum class FiberState { ready, at_barrier, at_collective, exited, failed };

struct Fiber : twin::ThreadState {
  BlockRunner *runner = nullptr;
  FiberState state = FiberState::ready;
  boost::context::detail::fcontext_t context = nullptr; ///< where to continue; valid while the fiber does not run
  const Collective *collective = nullptr;               ///< set while state is at_collective
  AsyncCopies copies;
  Stack stack;
  size_t stack_colour = 0;    ///< bytes left unused at the top, see BlockRunner::make_fiber
  void *fake_stack = nullptr; ///< AddressSanitizer's
};

} // namespace hconv::emulator
