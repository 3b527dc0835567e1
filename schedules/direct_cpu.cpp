#include "direct_cpu.h"

#include <algorithm>

using namespace Halide;

namespace hconv {
namespace {

constexpr int block_taps = 256;           // of a partial sum: 32 KB of weights for 32 channels, near the size of an L1
constexpr int staged_floats = 128 * 1024; // of x, at most: half of a small L2
constexpr int task_outputs = 448;         // of one channel, so that a block's weights serve 32 register tiles
constexpr int least_outputs = 56;         // the same where there are threads to feed
constexpr int task_channels = 256;        // at most
constexpr int task_sums = 256 * 1024;     // at most, unless a single row and a single tile of channels have more
constexpr float parallel_macs = 1e6f;     // about 20 microseconds of one core
constexpr int tasks_per_thread = 3;
constexpr int unknown_threads = 16;

Expr ceil_div(const Expr &a, const Expr &b) {
  return (a + b - 1) / b;
}

// Pieces of nearly equal size, none larger than `most`.
Expr balanced(const Expr &extent, const Expr &most) {
  return ceil_div(extent, ceil_div(extent, most));
}

/** Extents of a task's part of y. */
struct Task {
  Expr rows, channels, images;
};

// Reuse of weights wants many rows, and reuse of the copy of x wants many output channels, up to what the caches hold;
// threads want many tasks.
Task task_of(const DirectCpuProblem &p, int tile_oc) {
  Expr taps = p.kh * p.kw, tiles = ceil_div(p.oc, tile_oc);
  auto real = [](const Expr &e) { return cast<float>(e); };
  Expr macs = real(p.b) * real(p.oc) * real(p.oh) * real(p.ow) * real(p.packed_ic) * real(taps);
  Expr small = macs < parallel_macs;
  Expr threads = select(p.threads == 0, unknown_threads, p.threads);
  Expr tasks = select(threads == 1, 1.f, min(macs / parallel_macs, real(threads) * float(tasks_per_thread)));
  tasks = cast<int>(max(tasks, 1.f));

  Expr most_tiles = clamp(task_sums / tile_oc / p.ow, 1, min(tiles, task_channels / tile_oc));
  // Rows that overlap in x by KH - 1 are copied once per task.
  Expr rows = max(task_outputs / p.ow, min(p.kh / 2, task_sums / 2 / tile_oc / (p.ow * most_tiles)));
  rows = min(rows, max(p.b * p.oh / tasks, ceil_div(least_outputs, p.ow)));
  rows = balanced(p.oh, clamp(select(small, p.oh, rows), 1, p.oh));
  Expr spatial = p.b * ceil_div(p.oh, rows);

  // The fewer taps, the more channels are needed to make up for the copy.
  Expr least_tiles = select(taps == 1, 4, taps < 9, 2, 1) * std::max(32 / tile_oc, 1);
  Expr splits = max(min(ceil_div(tasks, spatial), tiles / least_tiles), ceil_div(tiles, most_tiles));
  return {rows, ceil_div(tiles, max(splits, 1)) * tile_oc, select(small, p.b, 1)};
}

// Parallel over tasks; in a task 8 x 8 outputs are turned in registers from OC innermost to OW innermost.
void place_output(BlockedConv2D &conv, Func y, const Task &task, const Var &b) {
  constexpr int turned = 8;
  Var b_task("b_task"), oh_task("oh_task"), oc_task("oc_task"), oc_block("oc_block"), ow_block("ow_block");
  Var oh("oh_in"), oc("oc_in"), ow("ow_in");
  // Nested, not fused: bounds inference cannot see through a division by an extent that is not a constant.
  y.split(conv.b, b_task, b, task.images, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_task, oc, task.channels, TailStrategy::GuardWithIf)
      .split(conv.oh, oh_task, oh, task.rows, TailStrategy::GuardWithIf)
      .split(oc, oc_block, oc, turned, TailStrategy::GuardWithIf)
      .split(conv.ow, ow_block, ow, turned, TailStrategy::Predicate)
      .reorder(ow, oc, ow_block, oh, oc_block, b, oh_task, oc_task, b_task)
      .vectorize(ow)
      .parallel(b_task)
      .parallel(oc_task)
      .parallel(oh_task);
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

ConvBlocks direct_cpu_blocks(const DirectTiles &t, const DirectCpuProblem &p) {
  // A step of 2 halves the code; the column too many is cheaper than a tile of 1.
  const int step = t.thread_ow % 2 ? 1 : 2;
  std::vector<int> columns;
  for (int width = t.thread_ow; width > 0; width -= step)
    columns.push_back(width);
  Expr row = p.ow + p.kw - 1;
  return {p.ow, columns, clamp(min(block_taps / (p.kh * p.kw), staged_floats / (p.kh * row)), 1, p.packed_ic)};
}

void schedule_direct_cpu(BlockedConv2D &conv, Func y, const DirectTiles &t, const DirectCpuProblem &p, Type element,
                         int lanes) {
  _halide_user_assert(t.tile_oc == t.thread_oc)
      << "tile_oc is " << t.tile_oc << ", expected thread_oc, " << t.thread_oc << ".\n";
  Var b("b_in");
  place_output(conv, y, task_of(p, t.tile_oc), b);
  conv.acc.compute_at(y, b).store_in(MemoryType::Heap).vectorize(conv.oc, lanes);
  for (size_t i = 0; i < conv.columns.size(); i++)
    place_columns(conv, conv.columns[i], conv.acc.update(i), t.tile_oc, element, lanes);

  // 1x1 kernels: no loops over taps that run once each.
  BlockedConv2D::Columns &usual = conv.columns.front();
  usual.part.update().specialize(p.kh * p.kw == 1);
}

} // namespace hconv
