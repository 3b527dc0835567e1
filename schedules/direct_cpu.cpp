#include "direct_cpu.h"

using namespace Halide;

namespace hconv {
namespace {

// One loop over all tasks; in a task 8 x 8 outputs are turned in registers from OC innermost to OW innermost.
void place_output(BlockedConv2D &conv, Func y, const DirectCpuTasks &tasks, const Var &b) {
  constexpr int turned = 8;
  Var b_task("b_task"), oh_task("oh_task"), oc_task("oc_task"), oc_block("oc_block"), ow_block("ow_block");
  Var oc_oh_task("oc_oh_task"), task("task"), oh("oh_in"), oc("oc_in"), ow("ow_in");
  y.split(conv.b, b_task, b, tasks.images, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_task, oc, tasks.channels, TailStrategy::GuardWithIf)
      .split(conv.oh, oh_task, oh, tasks.rows, TailStrategy::GuardWithIf)
      .split(oc, oc_block, oc, turned, TailStrategy::GuardWithIf)
      .split(conv.ow, ow_block, ow, turned, TailStrategy::Predicate)
      .reorder(ow, oc, ow_block, oh, oc_block, b, oh_task, oc_task, b_task)
      .vectorize(ow)
      .fuse(oh_task, oc_task, oc_oh_task)
      .fuse(oc_oh_task, b_task, task)
      .parallel(task);
  conv.acc.in(conv.y)
      .compute_at(y, ow_block)
      .store_in(MemoryType::Register)
      .bound_extent(conv.ow, turned)
      .bound_extent(conv.oc, turned)
      .reorder_storage(conv.ow, conv.oc, conv.oh, conv.b)
      .reorder(conv.oc, conv.ow)
      .vectorize(conv.oc)
      .unroll(conv.ow);
}

// Sums of one width of register tile, and what they read.
void place_columns(BlockedConv2D &conv, BlockedConv2D::Columns &c, Stage acc, int tile_oc, Type element, int lanes) {
  Var oc_block("oc_block"), oc("oc_in");
  acc.split(conv.oc, oc_block, oc, tile_oc, TailStrategy::RoundUp)
      .reorder(oc, c.tiles.x, c.tiles.y, conv.oh, oc_block, c.tiles.z, conv.b)
      .vectorize(oc, lanes)
      .unroll(oc)
      .unroll(c.tiles.x);
  c.part.compute_at(conv.acc, c.tiles.y)
      .store_in(MemoryType::Register)
      .bound_extent(conv.ow, c.width)
      .bound_extent(conv.oc, tile_oc)
      .vectorize(conv.oc, lanes)
      .unroll(conv.oc)
      .unroll(conv.ow);
  c.part.update()
      .reorder(conv.oc, conv.ow, c.r.x, c.r.y, c.r.z)
      .vectorize(conv.oc, lanes)
      .unroll(conv.oc)
      .unroll(conv.ow);

  c.x_tile.compute_at(conv.acc, c.tiles.z)
      .store_in(MemoryType::Heap)
      .align_bounds(conv.xw, BlockedConv2D::copied)
      .vectorize(conv.xw, BlockedConv2D::copied);
  c.x_tile.update(0).vectorize(conv.xw, BlockedConv2D::copied);
  c.x_tile.update(1).unscheduled();
  if (element != Float(32)) // converted once for all register tiles of the task
    c.w_tile.compute_at(conv.acc, oc_block).store_in(MemoryType::Heap).vectorize(conv.wo, lanes);
}

} // namespace

ConvBlocks direct_cpu_blocks(const DirectTiles &t, const Expr &ow, const Expr &channels) {
  // A step of 2 halves the code; the column too many is cheaper than a tile of 1. Half a tile comes besides, since rows
  // of 7 and 21 columns are common.
  const int step = t.thread_ow % 2 ? 1 : 2, half = t.thread_ow / 2;
  std::vector<int> columns;
  for (int width = t.thread_ow; width > 0; width--)
    if ((t.thread_ow - width) % step == 0 || (width == half && half > 1))
      columns.push_back(width);
  return {ow, columns, channels};
}

void schedule_direct_cpu(BlockedConv2D &conv, Func y, const DirectTiles &t, const DirectCpuTasks &tasks,
                         const Expr &taps, Type element, int lanes) {
  _halide_user_assert(t.tile_oc == t.thread_oc)
      << "tile_oc is " << t.tile_oc << ", expected thread_oc, " << t.thread_oc << ".\n";
  Var b("b_in");
  place_output(conv, y, tasks, b);
  conv.acc.compute_at(y, b).store_in(MemoryType::Heap).vectorize(conv.oc, lanes, TailStrategy::RoundUp);
  for (size_t i = 0; i < conv.columns.size(); i++)
    place_columns(conv, conv.columns[i], conv.acc.update(i), t.tile_oc, element, lanes);

  // 1x1 kernels: no loops over taps that run once each.
  BlockedConv2D::Columns &usual = conv.columns.front();
  usual.part.update().specialize(taps == 1);
}

} // namespace hconv
