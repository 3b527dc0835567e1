#include "product_cuda.h"

#include "gpu_loops.h"
#include <algorithm>
#include <numeric>

using namespace Halide;

namespace hconv {

namespace {

/** How the threads of a block share its tile. A thread has thread_oc neighbours along oc and, along n, vectors of
 * neighbours that lie the whole row of threads apart: neighbouring threads then read and write neighbouring vectors. */
struct ThreadGrid {
  Var t{"t"};                         // thread
  Var vec{"vec"}, en{"en"}, eo{"eo"}; // n in a vector, vectors and oc of one thread
  int across_n, across_oc;            // threads
  int vector_n;                       // elements of a vector
  int lanes_n, lanes_oc;              // threads of a warp; warps lie along n, then along oc

  explicit ThreadGrid(const ProductTiles &tiles)
      : across_n(tiles.tile_n / tiles.thread_n), across_oc(tiles.tile_oc / tiles.thread_oc),
        vector_n(std::gcd(tiles.thread_n, 4)) {
    lanes_n = std::gcd(across_n, 8); // 8 x 16 bytes are what shared memory gives at a time
    lanes_oc = kLanes / lanes_n;
    _halide_user_assert(tiles.tile_n % tiles.thread_n == 0 && tiles.tile_oc % tiles.thread_oc == 0 &&
                        across_oc % lanes_oc == 0)
        << "A block of " << across_n << " (n) x " << across_oc << " (oc) threads does not divide into warps of "
        << lanes_n << " x " << lanes_oc;
  }

  int threads() const { return across_n * across_oc; }

  /** Gives each thread its elements of a stage over one block's tile. */
  void split(Stage s, const Var &n, const Var &oc, const ProductTiles &tiles) const {
    Var lane_n("lane_n"), warp_n("warp_n"), lane_oc("lane_oc"), warp_oc("warp_oc");
    s.split(n, en, vec, vector_n)
        .split(en, en, lane_n, across_n)
        .split(lane_n, warp_n, lane_n, lanes_n)
        .split(oc, lane_oc, eo, tiles.thread_oc)
        .split(lane_oc, warp_oc, lane_oc, lanes_oc)
        .fuse(lane_n, lane_oc, t)
        .fuse(t, warp_n, t)
        .fuse(t, warp_oc, t);
  }
};

/** Rows of `width` elements of an operand, copied 16 bytes a thread. */
void stage(Func tile, const Var &element, const SpectralProduct &p, const ThreadGrid &grid, int width, int ic) {
  Var vec("vec"), rest("rest");
  tile.bound_extent(element, width)
      .bound_extent(p.c, 2)
      .bound_extent(p.ic, ic)
      .bound_extent(p.f, 1)
      .store_in(MemoryType::GPUShared)
      .split(element, rest, vec, 4)
      .vectorize(vec)
      .fuse(rest, p.c, rest)
      .fuse(rest, p.ic, rest)
      .split(rest, rest, grid.t, grid.threads(), TailStrategy::GuardWithIf)
      .reorder(vec, rest, grid.t, p.f)
      .gpu_threads(grid.t);
}

} // namespace

void schedule_product_cuda(SpectralProduct &p, Func y, const ProductTiles &tiles) {
  const ThreadGrid grid(tiles);
  _halide_user_assert(grid.threads() == tiles.warps * kLanes)
      << "warps is " << tiles.warps << ", but tiles of " << tiles.tile_oc << " oc x " << tiles.tile_n << " n with "
      << tiles.thread_oc << " x " << tiles.thread_n << " a thread need " << grid.threads() << " threads";
  Func x = p.x_tile.in(p.acc), w = p.w_tile.in(p.acc);
  for (Func f : {y, p.acc, p.x_tile, p.w_tile, x, w}) {
    f.never_partition_all(); // would duplicate the kernel
    for (int i = 0; i < f.num_update_definitions(); i++)
      f.update(i).never_partition_all();
  }

  Var n_block("n_block"), oc_block("oc_block"), n("n_in"), oc("oc_in");
  y.split(p.n, n_block, n, tiles.tile_n).split(p.oc, oc_block, oc, tiles.tile_oc);
  grid.split(y, n, oc, tiles);
  y.reorder(grid.vec, grid.en, p.c, grid.eo, grid.t, n_block, oc_block, p.f)
      .vectorize(grid.vec)
      .unroll(p.c)
      .gpu_threads(grid.t)
      .gpu_blocks(n_block, oc_block, p.f);

  p.acc.bound_extent(p.n, tiles.tile_n)
      .bound_extent(p.oc, tiles.tile_oc)
      .bound_extent(p.s, p.sums)
      .bound_extent(p.f, 1)
      .compute_at(y, n_block)
      .store_in(MemoryType::Register);
  grid.split(p.acc, p.n, p.oc, tiles);
  p.acc.reorder(grid.vec, grid.en, p.s, grid.eo, grid.t).gpu_threads(grid.t);

  RVar part = p.r.x, ic("ic"), ic_chunk("ic_chunk");
  Stage sum = p.acc.update();
  sum.split(p.r.y, ic_chunk, ic, tiles.ic);
  grid.split(sum, p.n, p.oc, tiles);
  sum.reorder(grid.vec, grid.eo, p.s, part, grid.en, ic, grid.t, ic_chunk).unroll(p.s).unroll(part).gpu_threads(grid.t);

  // Weights of a channel are read once, x a vector at a time.
  x.bound_extent(p.n, grid.vector_n).bound_extent(p.c, 2).compute_at(p.acc, grid.en).store_in(MemoryType::Register);
  w.bound_extent(p.oc, tiles.thread_oc).bound_extent(p.c, 2).compute_at(p.acc, ic).store_in(MemoryType::Register);
  x.vectorize(p.n, grid.vector_n);
  w.vectorize(p.oc, std::gcd(tiles.thread_oc, 4));

  stage(p.x_tile, p.n, p, grid, tiles.tile_n, tiles.ic);
  stage(p.w_tile, p.oc, p, grid, tiles.tile_oc, tiles.ic);
  p.x_tile.compute_at(p.acc, ic_chunk);
  p.w_tile.compute_at(p.acc, ic_chunk);
}

} // namespace hconv
