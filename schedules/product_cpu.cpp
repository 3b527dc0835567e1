#include "product_cpu.h"

using namespace Halide;

namespace hconv {
namespace {

constexpr float task_products = 1e6f; // real ones, at least: about 20 microseconds of one core

} // namespace

void schedule_product_cpu(SpectralProduct &p, Func y, const ProductCpuTiles &tiles, const ProductCpuProblem &problem,
                          int lanes) {
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
  p.acc.compute_at(y, n_block)
      .store_in(MemoryType::Register)
      .bound_extent(p.n, tiles.tile_n)
      .bound_extent(p.oc, tiles.tile_oc)
      .bound_extent(p.s, p.sums)
      .bound_extent(p.f, 1)
      .vectorize(p.n, lanes)
      .unroll(p.n)
      .unroll(p.s)
      .unroll(p.oc);
  p.acc.update()
      .reorder(p.n, p.s, p.r.x, p.oc, p.r.y, p.f)
      .vectorize(p.n, lanes)
      .unroll(p.n)
      .unroll(p.s)
      .unroll(p.r.x)
      .unroll(p.oc);
}

} // namespace hconv
