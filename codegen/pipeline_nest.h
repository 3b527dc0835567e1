/** pipeline_nest: a nest of loops around {stage into shared memory; barrier; compute; barrier}, taken apart. */
#pragma once

#include "kernel_arrays.h"
#include <optional>

namespace hconv {

/** What a schedule asks for. */
struct PipelineRequest {
  std::string loop;       // the schedule's name of the innermost loop, e.g. "kw_chunk"; "" asks for nothing
  int stages = 1;         // copies of the staged arrays; 1 leaves the loop as it is
  bool wgmma = false;     // consumers are wgmma: they read through the asynchronous proxy, and go on in the next step
  bool one_group = false; // they are products alone, of which pipeline makes one group a step

  int block[3] = {0, 0, 0}; // extents of the block's threads; 0 is not known

  /** Steps before the present one whose consumers may still read when it begins; what it stages must not touch them. */
  int kept() const { return wgmma && stages >= 3 ? 1 : 0; }
};

/** Appends the statements of nested blocks in order. */
void flatten(const Halide::Internal::Stmt &s, std::vector<Halide::Internal::Stmt> &list);

Halide::Internal::Stmt with_lets(Halide::Internal::Stmt s, const Lets &lets);

/** The lets whose values differ between threads. The others may stay variables: passes that look for what threads have
 * in common need not see into them. */
Lets lets_of_threads(const Lets &lets);

/** A uint32 that is to stay in its register through the loops that use it. */
Halide::Expr kept(const Halide::Expr &value);

struct PipelineNest {
  std::vector<const Halide::Internal::For *> loops; // outermost first; from 0, of extents that depend on none of them
  Lets lets;                                        // between and inside them, in order
  std::vector<Halide::Internal::Stmt> staging;      // producers of shared arrays
  Lets staging_lets;                                // that the producers see
  Halide::Internal::Stmt compute;                   // the rest
  std::set<std::string> staged;                     // arrays that the producers write
};

/** Expects a serial loop of a kernel's body after vector_access. Nothing, unless `outer` is the loop of the requested
 * name or holds nothing but lets and serial loops down to it. The body of that one must be producers of shared arrays
 * (and of nothing else), then their consumers, which write none of these, with barriers between but in neither; else it
 * is a compile error that says what did not fit. The nest points into `outer`. */
std::optional<PipelineNest> take_apart(const Halide::Internal::For *outer, const PipelineRequest &request,
                                       const KernelArrays &arrays);

/** A compile error that names the request, unless ok. */
void expect_pipeline(bool ok, const PipelineRequest &request, const std::string &why);

} // namespace hconv
