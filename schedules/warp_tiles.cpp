#include "warp_tiles.h"

using namespace Halide;

namespace hconv {

WarpTiles::WarpTiles(const DirectTiles &t)
    : across_ow(t.tile_ow / t.thread_ow), across_oh(t.tile_oh / t.thread_oh), across_oc(t.tile_oc / t.thread_oc) {
  _halide_user_assert(warps() == t.warps) << "warps is " << t.warps << ", but the tiles need " << warps();
}

void WarpTiles::spread(Func staged, const Var &channel, const Var &a, const Var &b, int width) const {
  Var vec("vec"), part("part"), row("row"), group("group"), t("t");
  const int parts = width / kVector;
  staged.store_in(MemoryType::GPUShared)
      .split(channel, part, vec, kVector)
      .vectorize(vec)
      .fuse(a, b, row)
      .split(row, row, group, warps() * kLanes / parts, TailStrategy::GuardWithIf)
      .fuse(part, group, t)
      .split(t, t, lane, kLanes)
      .split(t, thread_z(), thread_y(), neighbours_along_oc ? across_oc : warps_n())
      .reorder(vec, row, lane, thread_y(), thread_z())
      .gpu_threads(lane, thread_y(), thread_z());
}

void WarpTiles::stage(DirectConv2D &conv, const RVar &step, const DirectTiles &tiles, int w_pitch, int x_pitch) const {
  conv.w_tile.bound_extent(conv.wo, tiles.tile_oc)
      .bound_extent(conv.wx, tiles.kw_tile)
      .bound_extent(conv.wy, tiles.kh_tile)
      .bound_extent(conv.wi, tiles.ic)
      .reorder_storage(conv.wi, conv.wo, conv.wx, conv.wy)
      .align_storage(conv.wi, w_pitch)
      .compute_at(conv.acc, step)
      .fuse(conv.wo, conv.wx, conv.wo);
  spread(conv.w_tile, conv.wi, conv.wo, conv.wy, tiles.ic);

  conv.x_tile.bound_extent(conv.xw, tiles.tile_ow + tiles.kw_tile - 1)
      .bound_extent(conv.xh, tiles.tile_oh + tiles.kh_tile - 1)
      .bound_extent(conv.xc, tiles.ic)
      .bound_extent(conv.xb, 1)
      .reorder_storage(conv.xc, conv.xw, conv.xh, conv.xb)
      .align_storage(conv.xc, x_pitch)
      .compute_at(conv.acc, step);
  spread(conv.x_tile, conv.xc, conv.xw, conv.xh, tiles.ic);
}

void StepLoops::split(DirectConv2D &conv, const DirectTiles &tiles) const {
  conv.acc.update()
      .split(conv.r.z, ic_chunk, ic, tiles.ic)
      .split(ic, ic, k, 16)
      .split(conv.r.y, kh_chunk, kh, tiles.kh_tile)
      .split(conv.r.x, kw_chunk, kw, tiles.kw_tile);
}

} // namespace hconv
