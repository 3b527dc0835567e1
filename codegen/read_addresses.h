/** read_addresses: a thread's part of the addresses that a pipeline's consumers read is computed once. */
#pragma once

#include "pipeline_nest.h"

namespace hconv {

struct StagedReads {
  Halide::Internal::Stmt first;   // before the first step: fills the array; undefined if there is nothing in it
  Halide::Internal::Stmt compute; // of one step
  int kept = 0;                   // elements of kReadPlaces, a private uint32 array of both

  /** s with the private array around it. */
  Halide::Internal::Stmt around(const Halide::Internal::Stmt &s) const;
};

/** Expects the consumers of a nest and the lets around it. Of an index into a staged array, the terms that threads
 * differ in are kept in a register where they depend on no loop of the nest or of the consumers:
 *
 *     tile[((lane * 2 + kh) * 5 + ic * 50) * 4 + 8]  ->  (&tile[place])[ic * 200 + kh * 20 + 8], place = lane * 40
 *
 * so that what is left inside the loops is the same in all threads and moves evenly. Other indices stay as they are:
 * those with data in them, and with a term that mixes threads and loops. */
StagedReads read_addresses(const PipelineNest &nest, const Lets &around);

} // namespace hconv
