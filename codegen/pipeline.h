/** pipeline: {stage into shared memory; barrier; compute; barrier} loops -> a software pipeline of several stages. */
#pragma once

#include "kernel.h"

namespace hconv {

/** What a schedule asks for. */
struct PipelineRequest {
  std::string loop; // the schedule's name of the innermost loop, e.g. "kw_chunk"; "" asks for nothing
  int stages = 1;   // copies of the staged arrays; 1 leaves the loop as it is
};

/** Long float32 sums in blocks, so that their rounding error grows with the number of blocks and not of products. */
struct BlockedSums {
  int steps = 0;      // of the pipeline in one block; 0 keeps one chain
  int threads = 0;    // of the kernel, all along x
  int min_blocks = 1; // that must fit on one multiprocessor
  /** Sums of at most `steps` steps do without totals, and it is a compile error where the totals do not fit. */
  bool only_long = false;
};

/** Expects a kernel's body after vector_access, with a serial loop of the requested name whose body is: producers of
 * shared arrays (nothing else), then their consumers, with barriers between. Serial loops that hold nothing but this
 * one are taken into the pipeline, so it never drains between them.
 *
 * Leaves one loop over all steps. Step i computes from copy i % stages of the staged arrays while the copies for step
 * i + stages - 1 are on their way; there is one barrier a step. Of the staging, these become asynchronous:
 *
 *     store_aligned(shared, load_aligned(global)) of 16 bytes           -> cp_async16
 *     shared[i] = condition ? global[j] : 0 (or no condition), 4 bytes  -> cp_async4, zero filled where the condition
 * fails
 *
 * and everything else (16-bit elements, conversions) stays a plain copy into the later stage. A loop that does not have
 * the shape is a compile error that says what did not fit. */
/** With `sums`, the private float32 array that the consumers add to is moved into a total in shared memory after every
 * sums.steps steps, and starts from 0 again; the total is added back at the end. That happens only where the totals
 * (threads x array) leave room for min_blocks blocks on a multiprocessor of 228 KiB. */
Halide::Internal::Stmt pipeline(const Halide::Internal::Stmt &body, const PipelineRequest &request,
                                const BlockedSums &sums = {});

} // namespace hconv
