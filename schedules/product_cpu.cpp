#include "product_cpu.h"

using namespace Halide;

namespace hconv {
namespace {

constexpr float task_products = 1e6f; // real ones, at least: about 20 microseconds of one core

/** Sums of a register tile, computed in straight-line code. */
void keep_sums(Func sums, const SpectralProduct &p, const ProductCpuTiles &tiles, int lanes) {
  sums.bound_extent(p.n, tiles.tile_n)
      .bound_extent(p.oc, tiles.tile_oc)
      .bound_extent(p.s, p.sums)
      .bound_extent(p.f, 1)
      .vectorize(p.n, lanes)
      .unroll(p.n)
      .unroll(p.s)
      .unroll(p.oc);
}

/** Channel by channel. */
void keep_chain(Func sums, const SpectralProduct &p, const ProductCpuTiles &tiles, int lanes, const LoopLevel &level) {
  keep_sums(sums, p, tiles, lanes);
  sums.compute_at(level).store_in(MemoryType::Register);
  sums.update()
      .reorder({p.n, p.s, p.r.x, p.oc, p.r.y, p.f})
      .vectorize(p.n, lanes)
      .unroll(p.n)
      .unroll(p.s)
      .unroll(p.r.x)
      .unroll(p.oc);
}

} // namespace

void schedule_product_cpu(SpectralProduct &p, SpectralProduct *in_blocks, Func y, const ProductCpuTiles &tiles,
                          const ProductCpuProblem &problem, int lanes) {
  _halide_user_assert(tiles.tile_n % lanes == 0)
      << "tile_ow is " << tiles.tile_n << ", expected a multiple of the vectors' " << lanes << " elements.\n";
  Var task("task"), f("f_in"), n_block("n_block"), n("n_in"), oc_block("oc_block"), oc("oc_in");
  auto real = [](const Expr &e) { return cast<float>(e); };
  Expr products = 4.f * real(problem.n) * real(problem.oc) * real(problem.channels);
  Expr task_frequencies = clamp(cast<int>(task_products / max(products, 1.f)), 1, problem.frequencies);

  y.split(p.f, task, f, task_frequencies, TailStrategy::GuardWithIf)
      .split(p.n, n_block, n, tiles.tile_n, TailStrategy::RoundUp)
      .split(p.oc, oc_block, oc, tiles.tile_oc, TailStrategy::RoundUp)
      .reorder(n, p.c, oc, n_block, oc_block, f, task)
      .vectorize(n, lanes)
      .unroll(n)
      .unroll(p.c)
      .unroll(oc)
      .parallel(task);
  const LoopLevel tile(y, n_block);
  keep_chain(p.acc, p, tiles, lanes, tile);
  if (!in_blocks)
    return;
  SpectralProduct &q = *in_blocks;
  keep_sums(q.acc, q, tiles, lanes);
  q.acc.compute_at(tile).store_in(MemoryType::Stack);
  q.acc.update().reorder({q.n, q.s, q.oc, q.blocks.x, q.f}).vectorize(q.n, lanes).unroll(q.n).unroll(q.s).unroll(q.oc);
  keep_chain(q.part, q, tiles, lanes, LoopLevel(q.acc, q.blocks.x));
  q.part.bound_extent(q.k, 1);
}

} // namespace hconv
