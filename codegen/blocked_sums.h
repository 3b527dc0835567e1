/** blocked_sums: long float32 sums in blocks, with totals in shared memory. */
#pragma once

#include "pipeline_nest.h"

namespace hconv {

/** What a schedule asks for, so that a sum's rounding error grows with the number of blocks and not of products. */
struct BlockedSums {
  int steps = 0;      // of the pipeline in one block; 0 keeps one chain
  int threads = 0;    // of the kernel, all along x
  int min_blocks = 1; // that must fit on one multiprocessor
  /** Sums of at most `steps` steps do without totals, and it is a compile error where the totals do not fit. */
  bool only_long = false;
};

/** The totals of a pipeline: the private float32 array that its consumers add to, of which there must be exactly one if
 * blocks are asked for, is moved into a total in shared memory after every sums.steps steps and starts from 0 again;
 * the total is added back at the end. There are totals only where they (threads x array) leave room for sums.min_blocks
 * blocks on a multiprocessor of 228 KiB. The loop over the steps must be called "step", their number "steps". */
class Totals {
public:
  Totals(const PipelineRequest &request, const BlockedSums &sums, const PipelineNest &nest, const KernelArrays &arrays);

  /** What ends each step, after `compute`. */
  Halide::Internal::Stmt after(const Halide::Internal::Stmt &compute) const;

  /** `steps`, with the totals' memory, their start and their end. */
  Halide::Internal::Stmt around(const Halide::Internal::Stmt &steps) const;

private:
  BlockedSums sums;
  std::string array;
  int count = 0; // of one thread; 0: no totals

  Halide::Expr any() const; // whether there is more than one block of steps
  Halide::Expr index_of(const Halide::Expr &i) const;
  Halide::Internal::Stmt for_each(const Halide::Internal::Stmt &body) const;
};

} // namespace hconv
