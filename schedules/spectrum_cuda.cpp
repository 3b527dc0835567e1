#include "spectrum_cuda.h"

#include "gpu_loops.h"
#include <algorithm>

using namespace Halide;

namespace hconv {

namespace {

constexpr int kRowsAtOnce = 32; // loads that a thread has under way

/** How a block's threads share lines and tiles. */
struct BlockShape {
  SpectrumTile size;
  int group;

  explicit BlockShape(const SpectrumTile &size) : size(size), group(spectrum_group(size)) {}

  int threads() const { return group * std::max(size.pairs(), size.columns()); }
  /** Tiles that are staged at a time, a row each. */
  int tiles_at_once() const { return std::min(group, threads() / size.w); }
};

/** The definition before the update stores nothing, but counts as the host's if it is not in GPU loops: then callers
 * would have to give a host pointer. */
void keep_off_host(Func out) {
  out.gpu_single_thread();
}

/** Each level in registers of the thread that computes `consumer`. */
void keep_in_thread(const std::vector<Func> &levels, const SpectrumVars &v, Func consumer, const VarOrRVar &thread) {
  for (Func level : levels)
    level.compute_at(LoopLevel(consumer, thread)).store_in(MemoryType::Register).unroll(v.at);
  never_partition(levels);
}

/** A column, whole, in registers of the thread that computes `consumer`. */
void keep_columns(const SpectrumVars &v, Func columns, const std::vector<Func> &levels, const SpectrumTile &size,
                  Func consumer, const VarOrRVar &thread) {
  columns.bound_extent(v.at, 2 * size.h);
  keep_in_thread({columns}, v, consumer, thread);
  keep_in_thread(levels, v, consumer, thread);
}

/** Tiles in shared memory. The pitch of a tile lets 8 threads, one a tile, read 16 bytes each at once. */
void keep_tile(Func tile, const SpectrumVars &v, const SpectrumTile &size, int group) {
  tile.store_in(MemoryType::GPUShared)
      .bound_extent(v.q, size.h * size.w)
      .bound_extent(v.n, group)
      .bound_extent(v.ic, 1)
      .align_storage(v.q, size.h * size.w + 4);
  never_partition({tile});
}

/** Lines in shared memory. n is innermost for both transforms; an odd count of pairs puts the next c into other banks.
 */
void keep_lines(Func lines, const SpectrumVars &v, const SpectrumTile &size, int group) {
  lines.store_in(MemoryType::GPUShared)
      .bound_extent(v.n, group)
      .bound_extent(v.p, size.pairs())
      .bound_extent(v.c, size.columns())
      .bound_extent(v.side, 2)
      .bound_extent(v.part, 2)
      .bound_extent(v.ic, 1)
      .align_storage(v.p, size.pairs() + 1);
  never_partition({lines});
}

/** Two rows in registers, computed at block level so that shared memory can be used again between. */
void keep_rows(Func rows, const SpectrumVars &v, const SpectrumTile &size, int group, const Var &t) {
  rows.store_in(MemoryType::Register)
      .bound_extent(v.at, 2 * size.w)
      .bound_extent(v.p, size.pairs())
      .bound_extent(v.n, group)
      .bound_extent(v.ic, 1)
      .reorder(v.at, v.n, v.p, v.ic)
      .unroll(v.at)
      .fuse(v.n, v.p, t)
      .gpu_threads(t);
  never_partition({rows});
}

} // namespace

int spectrum_group(const SpectrumTile &size) {
  const int longest = std::max(size.h, size.w);
  return longest <= 16 ? 32 : longest <= 32 ? 16 : 8;
}

int spectrum_min_blocks(const SpectrumTile &size) {
  const int longest = std::max(size.h, size.w);
  return longest <= 16 ? 4 : longest <= 32 ? 2 : 1;
}

void schedule_spectrum_cuda(ForwardSpectrum &s, const SpectrumTile &size) {
  const BlockShape block(size);
  Var n_block("n_block"), n("n_in"), t("t"), w("w"), h("h"), row("row");
  Func out = s.spectrum;
  keep_off_host(out);
  never_partition({out});
  RVar thread("t");
  out.update()
      .allow_race_conditions()
      .split(s.n, n_block, n, block.group)
      .reorder({s.part, s.r.x, s.r.y, n, s.r.z, n_block, s.ic})
      .unroll(s.part)
      .unroll(s.r.x)
      .unroll(s.r.y)
      .fuse(n, s.r.z, thread)
      .gpu_threads(thread)
      .gpu_blocks(n_block, s.ic);

  keep_columns(s, s.columns, s.column_levels, size, out, thread);

  keep_lines(s.lines, s, size, block.group);
  s.lines.compute_at(out, n_block)
      .reorder(s.part, s.side, s.c, s.n, s.p, s.ic)
      .unroll(s.part)
      .unroll(s.side)
      .unroll(s.c)
      .fuse(s.n, s.p, t)
      .gpu_threads(t);
  keep_rows(s.rows, s, size, block.group, t);
  s.rows.compute_at(out, n_block);
  keep_in_thread(s.row_levels, s, s.rows, t);

  keep_tile(s.tile, s, size, block.group);
  s.tile.compute_at(out, n_block)
      .split(s.q, h, w, size.w)
      .split(s.n, s.n, n, block.tiles_at_once())
      .reorder(h, s.n, w, n, s.ic)
      .unroll(h, std::min(size.h, kRowsAtOnce))
      .fuse(w, n, t)
      .gpu_threads(t);
  if (s.origin.defined()) {
    s.origin.compute_at(s.tile, s.n).store_in(MemoryType::Register);
    never_partition({s.origin});
  }
}

void schedule_spectrum_cuda(InverseSpectrum &s, const SpectrumTile &size) {
  const BlockShape block(size);
  Var t("t"), w("w"), h("h"), b("b");
  RVar n_block("n_block"), n_outer("n"), n("n_in"), thread("t");
  Func out = s.y;
  keep_off_host(out);
  never_partition({out});
  out.update()
      .allow_race_conditions()
      .split(s.r.z, n_block, n, block.group)
      .split(n, n_outer, n, block.tiles_at_once())
      .reorder({s.r.x, s.r.y, n, n_outer, n_block, s.ic})
      .fuse(s.r.y, n, thread)
      .gpu_threads(thread)
      .gpu_blocks(n_block, s.ic);
  s.origin.compute_at(LoopLevel(out, thread)).store_in(MemoryType::Register);
  never_partition({s.origin});

  keep_tile(s.tile, s, size, block.group);
  s.tile.compute_at(LoopLevel(out, n_block))
      .split(s.q, h, w, size.w)
      .split(h, h, b, 2)
      .reorder(w, b, s.n, h, s.ic)
      .unroll(w)
      .unroll(b)
      .fuse(s.n, h, t)
      .gpu_threads(t);
  keep_rows(s.rows, s, size, block.group, t);
  s.rows.compute_at(LoopLevel(out, n_block));
  keep_in_thread(s.row_levels, s, s.rows, t);

  keep_lines(s.lines, s, size, block.group);
  s.lines.compute_at(LoopLevel(out, n_block))
      .reorder(s.part, s.side, s.p, s.n, s.c, s.ic)
      .unroll(s.part)
      .unroll(s.side)
      .unroll(s.p)
      .fuse(s.n, s.c, t)
      .gpu_threads(t);
  keep_columns(s, s.columns, s.column_levels, size, s.lines, t);
}

} // namespace hconv
