#include "direct_cuda.h"

using namespace Halide;

namespace hconv {

namespace {

/** How a block's threads share its tile: ow across x, rows of oh across y, oc across z. */
struct ThreadGrid {
  Var lane_ow{"lane_ow"}, row{"row"}, lane_oc{"lane_oc"}; // thread indices
  Var ew{"ew"}, ec{"ec"};                                 // outputs of one thread
  int x, y, z;

  explicit ThreadGrid(const DirectTiles &t) : x(t.tile_ow / t.thread_ow), y(t.tile_oh), z(t.tile_oc / t.thread_oc) {}

  int threads() const { return x * y * z; }

  /** Gives each thread its outputs of a stage over one block's tile. */
  void split(Stage s, const Var &ow, const Var &oh, const Var &oc, const DirectTiles &t) const {
    s.split(ow, lane_ow, ew, t.thread_ow).split(oc, lane_oc, ec, t.thread_oc).rename(oh, row);
  }

  /** Spreads a staging copy, fused into one dimension `f`, over all threads of the block. */
  void spread(Func staged, const Var &f) const {
    Var t("t"), t1("t1"), t2("t2");
    staged.split(f, f, t, threads(), TailStrategy::GuardWithIf)
        .split(t, t1, t, x)
        .split(t1, t2, t1, y)
        .reorder(f, t, t1, t2)
        .gpu_threads(t, t1, t2);
  }
};

} // namespace

void schedule_direct_cuda(DirectConv2D &conv, Func y, const DirectTiles &t, Type element) {
  const ThreadGrid grid(t);
  _halide_user_assert(grid.threads() == t.warps * 32)
      << "warps is " << t.warps << ", but tiles of " << t.tile_oc << " oc x " << t.tile_oh << " oh x " << t.tile_ow
      << " ow with " << t.thread_oc << " x " << t.thread_ow << " a thread need " << grid.threads() << " threads";

  // Loop partitioning would duplicate the whole kernel for its borders.
  y.never_partition_all();
  conv.acc.never_partition_all();
  conv.acc.update().never_partition_all();
  conv.x_tile.never_partition_all();
  conv.w_tile.never_partition_all();

  Var ow_block("ow_block"), oh_block("oh_block"), oc_block("oc_block"), batch_oh("batch_oh");
  Var ow("ow_in"), oh("oh_in"), oc("oc_in");
  y.split(conv.ow, ow_block, ow, t.tile_ow, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_block, oc, t.tile_oc, TailStrategy::GuardWithIf)
      .split(conv.oh, oh_block, oh, t.tile_oh, TailStrategy::GuardWithIf)
      .fuse(oh_block, conv.b, batch_oh);
  grid.split(y, ow, oh, oc, t);
  // Only the grid's x may exceed 65535 blocks, so it is batch x OH; neighbours in x share weights and rows of x.
  y.reorder(grid.ew, grid.ec, grid.lane_ow, grid.row, grid.lane_oc, batch_oh, ow_block, oc_block)
      .gpu_threads(grid.lane_ow, grid.row, grid.lane_oc)
      .gpu_blocks(batch_oh, ow_block, oc_block);

  conv.acc.bound_extent(conv.ow, t.tile_ow)
      .bound_extent(conv.oh, t.tile_oh)
      .bound_extent(conv.oc, t.tile_oc)
      .bound_extent(conv.b, 1)
      .compute_at(y, batch_oh)
      .store_in(MemoryType::Register);
  grid.split(conv.acc, conv.ow, conv.oh, conv.oc, t);
  conv.acc.reorder(grid.ew, grid.ec, grid.lane_ow, grid.row, grid.lane_oc)
      .gpu_threads(grid.lane_ow, grid.row, grid.lane_oc);

  RVar kw("kw"), kw_chunk("kw_chunk"), ic("ic"), ic_chunk("ic_chunk");
  Stage sum = conv.acc.update();
  sum.split(conv.r.z, ic_chunk, ic, t.ic).split(conv.r.x, kw_chunk, kw, t.kw_tile);
  grid.split(sum, conv.ow, conv.oh, conv.oc, t);
  sum.reorder(grid.ew, grid.ec, kw, ic, grid.lane_ow, grid.row, grid.lane_oc, kw_chunk, conv.r.y, ic_chunk)
      .gpu_threads(grid.lane_ow, grid.row, grid.lane_oc);

  Var f("f"), vec("vec");
  const int vector_elements = 16 / element.bytes();
  conv.w_tile.bound_extent(conv.wo, t.tile_oc)
      .bound_extent(conv.wx, t.kw_tile)
      .bound_extent(conv.wy, 1)
      .bound_extent(conv.wi, t.ic)
      .compute_at(conv.acc, kw_chunk)
      .store_in(MemoryType::GPUShared)
      .split(conv.wo, conv.wo, vec, vector_elements)
      .vectorize(vec)
      .fuse(conv.wo, conv.wx, f)
      .fuse(f, conv.wy, f)
      .fuse(f, conv.wi, f);
  grid.spread(conv.w_tile, f);

  conv.x_tile.bound_extent(conv.xw, t.tile_ow + t.kw_tile - 1)
      .bound_extent(conv.xh, t.tile_oh)
      .bound_extent(conv.xc, t.ic)
      .bound_extent(conv.xb, 1)
      .compute_at(conv.acc, kw_chunk)
      .store_in(MemoryType::GPUShared)
      .fuse(conv.xw, conv.xh, f)
      .fuse(f, conv.xc, f)
      .fuse(f, conv.xb, f);
  grid.spread(conv.x_tile, f);
}

} // namespace hconv
