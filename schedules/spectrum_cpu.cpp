#include "spectrum_cpu.h"

#include <algorithm>

using namespace Halide;

namespace hconv {

namespace {

/** A transform of lines in registers, as far as they hold it, in each step of a loop of its consumer. */
void keep_line(BlockedLine &line, const BlockedVars &v, const SpectrumBlocks &blocks, const LoopLevel &level) {
  std::vector<Func> all = line.parts;
  all.push_back(line.out);
  for (Func f : all)
    f.compute_at(level)
        .store_in(MemoryType::Register)
        .bound_extent(v.n, blocks.lanes)
        .reorder(v.n, v.at)
        .reorder_storage(v.n, v.at)
        .vectorize(v.n)
        .unroll(v.at);
}

void keep_lines(Func lines, const BlockedVars &v, const SpectrumTile &size, const SpectrumBlocks &blocks,
                const LoopLevel &level) {
  lines.compute_at(level)
      .store_in(MemoryType::Heap)
      .bound_extent(v.n, blocks.lanes)
      .bound_extent(v.p, size.pairs())
      .bound_extent(v.c, size.columns())
      .bound_extent(v.side, 2)
      .bound_extent(v.part, 2)
      .bound_extent(v.ic, 1)
      .vectorize(v.n)
      .unroll(v.part)
      .unroll(v.side);
}

} // namespace

SpectrumBlocks spectrum_cpu_blocks(int lanes) {
  // 8 complex vectors where there are 32 registers.
  return {lanes, std::min(lanes, 8), lanes >= 16 ? 3 : 2};
}

void schedule_spectrum_cpu(BlockedForward &s, const SpectrumTile &size, const SpectrumBlocks &blocks) {
  Var group("group"), n("n_in"), wo("wo"), wi("wi");
  Func out = s.spectrum;
  out.update()
      .allow_race_conditions()
      .split(s.n, group, n, blocks.lanes, TailStrategy::RoundUp)
      .reorder({n, s.part, s.r.x, s.r.y, s.r.z, group, s.ic})
      .vectorize(n)
      .unroll(s.part)
      .unroll(s.r.x)
      .unroll(s.r.y)
      .parallel(group)
      .parallel(s.ic);
  const LoopLevel task(out, group), column(out, s.r.z);
  keep_line(s.columns, s, blocks, column);
  keep_lines(s.lines, s, size, blocks, task);
  s.lines.reorder_storage(s.n, s.part, s.side, s.p, s.c, s.ic).reorder(s.n, s.part, s.side, s.c, s.p, s.ic).unroll(s.c);
  const LoopLevel pair(s.lines, s.p);
  keep_line(s.rows, s, blocks, pair);
  s.tile.compute_at(pair)
      .store_in(MemoryType::Stack)
      .bound_extent(s.n, blocks.lanes)
      .bound_extent(s.w, size.w)
      .bound_extent(s.h, 2)
      .split(s.n, s.q, s.k, s.quad)
      .vectorize(s.k)
      .vectorize(s.q)
      .unroll(s.w, 4);
  s.quads.compute_at(pair)
      .store_in(MemoryType::Stack)
      .bound_extent(s.k, s.quad)
      .bound_extent(s.w, size.w)
      .bound_extent(s.q, blocks.lanes / s.quad)
      .bound_extent(s.h, 2)
      .split(s.w, wo, wi, std::min(blocks.lanes, size.w))
      .reorder(wi, s.k, wo, s.q, s.h, s.ic)
      .vectorize(wi)
      .unroll(s.k);
  s.patch.compute_at(pair)
      .store_in(MemoryType::Stack)
      .bound_extent(s.n, blocks.lanes)
      .bound_extent(s.u, blocks.whole_rows(size))
      .bound_extent(s.h, 2)
      .reorder(s.u, s.h, s.n, s.ic)
      .vectorize(s.u, blocks.copied);
  s.patch.update(0).reorder(s.u, s.h, s.n, s.ic).vectorize(s.u, blocks.copied);
  s.patch.update(1).reorder(s.u, s.h, s.n, s.ic);
  s.origin.compute_at(task).store_in(MemoryType::Stack).bound_extent(s.n, blocks.lanes);
}

void schedule_spectrum_cpu(BlockedInverse &s, const SpectrumTile &size, const SpectrumBlocks &blocks) {
  const RVar pairs = s.r[6], group = s.r[7];
  Func out = s.y;
  out.update()
      .allow_race_conditions()
      .reorder({s.r[0], s.r[1], s.r[2], s.r[3], s.r[4], s.r[5], pairs, group, s.ic})
      .vectorize(s.r[0])
      .vectorize(s.r[1])
      .unroll(s.r[2])
      .parallel(group)
      .parallel(s.ic);
  const LoopLevel task(out, group), pair(out, pairs);
  s.origin.compute_at(task).store_in(MemoryType::Stack).bound_extent(s.n, blocks.lanes);
  s.quads.compute_at(pair)
      .store_in(MemoryType::Stack)
      .bound_extent(s.k, s.quad)
      .bound_extent(s.n, blocks.lanes)
      .bound_extent(s.q, size.w / s.quad)
      .bound_extent(s.h, 2)
      .reorder(s.n, s.k, s.q, s.h, s.ic)
      .vectorize(s.n)
      .unroll(s.k)
      .unroll(s.q)
      .unroll(s.h);
  keep_line(s.rows, s, blocks, pair);
  keep_lines(s.lines, s, size, blocks, task);
  s.lines.reorder_storage(s.n, s.part, s.side, s.c, s.p, s.ic).reorder(s.n, s.part, s.side, s.p, s.c, s.ic).unroll(s.p);
  keep_line(s.columns, s, blocks, LoopLevel(s.lines, s.c));
}

} // namespace hconv
