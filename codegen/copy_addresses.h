/** copy_addresses: what the addresses and conditions of a pipeline's copies share over its steps is computed once. */
#pragma once

#include "pipeline_nest.h"

namespace hconv {

/** The staging of a pipeline, in two parts. */
struct StagedCopies {
  Halide::Internal::Stmt first;    // before the first step: fills the arrays
  Halide::Internal::Stmt staging;  // of one step, in the variables of the nest's loops
  std::map<std::string, int> kept; // private uint32 arrays of both, and how many elements they have

  /** s with the private arrays around it. */
  Halide::Internal::Stmt around(Halide::Internal::Stmt s) const;
};

/** Expects the producers of a nest, of which async_copies has made cp_async4 and cp_async16, and the lets around the
 * nest; `block` is the extents of the block's threads, 0 where it is not known. Of a producer that consists of such
 * copies, in loops of constant extent, under lets and ifs, each copy becomes
 *
 *     if (bit of a mask)
 *       cp_async(shared + place + constant, global + int(offset + moved), bit of a mask && more ? 4 : 0)
 *
 * - `moved` is the part of the index that is linear in the loops' variables, the same for many copies;
 * - offset, place and masks are kept in registers. They are the same in all steps, or depend on loops inside the
 *   outermost one (a chunk of taps): then they are made again in each step, if those loops have more than one;
 * - `more` is what of the condition depends on the outermost loop's variable (the bound of the channels).
 *
 * An index is only read where the copy's condition holds, so it loses the clamps that the condition makes idle. It is
 * summed up modulo 2^32, so that parts of it may overflow where the whole does not.
 *
 * Any other producer stays as it is: one with other statements, with more than 256 copies, with data in an address or a
 * condition, or with an address that depends on the outermost loop's variable but is not linear in it. */
StagedCopies copy_addresses(const Halide::Internal::Stmt &staging, const PipelineNest &nest, const Lets &around,
                            const int (&block)[3]);

} // namespace hconv
