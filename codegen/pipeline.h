/** pipeline: {stage into shared memory; barrier; compute; barrier} loops -> a software pipeline of several stages. */
#pragma once

#include "blocked_sums.h"

namespace hconv {

/** Expects a kernel's body after vector_access, with a serial loop of the requested name whose body is: producers of
 * shared arrays (nothing else), then their consumers, with barriers between. Serial loops that hold nothing but this
 * one are taken into the pipeline, so it never drains between them.
 *
 * Leaves one loop over all steps. Step i computes from copy i % stages of the staged arrays while the copies for step
 * i + stages - 1 are on their way, asynchronously where async_copies can; there is one barrier a step. Consumers that
 * are wgmma may go on while the next step begins, which costs one of three or more stages: then it is the copies for
 * step i + stages - 2. With `sums`, the consumers' float32 sums are kept in blocks (see Totals). A loop that does not
 * have the shape is a compile error that says what did not fit. */
Halide::Internal::Stmt pipeline(const Halide::Internal::Stmt &body, const PipelineRequest &request,
                                const BlockedSums &sums = {});

} // namespace hconv
