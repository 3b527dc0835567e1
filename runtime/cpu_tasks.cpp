#include "cpu_tasks.h"

#include <algorithm>

#include "dispatch.h"
#include "layout.h"
#include "problem.h"
#include "scratch.h"
#include "tiling.h"

namespace hconv::runtime {
namespace {

constexpr int64_t block_taps = 256;           // of a partial sum: 32 KB of weights for 32 channels, near an L1's size
constexpr int64_t staged_floats = 128 * 1024; // of x, at most: half of a small L2
constexpr int64_t task_outputs = 448;         // of one channel, so that a block's weights serve 32 register tiles
constexpr int64_t least_outputs = 56;         // the same where there are threads to feed
constexpr int64_t task_channels = 256;        // at most
constexpr int64_t task_sums = 256 * 1024;     // at most, unless a single row and a single tile of channels have more
constexpr int64_t tasks_per_thread = 3;
constexpr int64_t copied = 8; // columns of x that are copied at once (BlockedConv2D::copied)

// Pieces of nearly equal size, none larger than `most`.
int64_t balanced(int64_t extent, int64_t most) {
  return tiles_of(extent, tiles_of(extent, most));
}

// Products a microsecond of one core, on a Zen 4 (docs/cpu.md).
double speed_of(Target target) {
  return target == Target::cpu_avx512 ? 55e3 : target == Target::cpu_avx2 ? 50e3 : 17e3;
}

int64_t taps_of(const hconv_problem &p) {
  return p.kernel_height * p.kernel_width;
}

// Output channels of a task at least. The fewer taps, the more are needed to make up for the copy of x.
int64_t least_channels(const hconv_problem &p) {
  const int64_t taps = taps_of(p);
  return 32 * (taps == 1 ? 4 : taps < 9 ? 2 : 1);
}

int64_t block_channels(const hconv_problem &p, const Geometry &g) {
  const int64_t row = g.output_width + p.kernel_width - 1;
  const int64_t channels = std::min(block_taps / taps_of(p), staged_floats / (p.kernel_height * row));
  return std::clamp<int64_t>(channels, 1, p.in_channels);
}

// Reuse of weights wants many rows, and reuse of the copy of x many output channels, up to what the caches hold;
// threads want many tasks.
void cut(const hconv_problem &p, const Geometry &g, int64_t tile_oc, int64_t wanted, bool small, CpuTasks *t) {
  const int64_t tiles = tiles_of(p.out_channels, tile_oc), ow = g.output_width, oh = g.output_height;
  const int64_t most_tiles = std::clamp<int64_t>(task_sums / tile_oc / ow, 1, std::min(tiles, task_channels / tile_oc));
  // Rows that overlap in x by KH - 1 are copied once per task.
  int64_t rows =
      std::max(task_outputs / ow, std::min(p.kernel_height / 2, task_sums / 2 / tile_oc / (ow * most_tiles)));
  rows = std::min(rows, std::max(p.batch * oh / wanted, tiles_of(least_outputs, ow)));
  if (small) // as few tasks as the caches allow
    rows = std::max(rows, task_sums / (most_tiles * tile_oc) / ow);
  rows = balanced(oh, std::clamp<int64_t>(rows, 1, oh));
  const int64_t spatial = p.batch * tiles_of(oh, rows);
  const int64_t least_tiles = std::max<int64_t>(least_channels(p) / tile_oc, 1);
  const int64_t splits =
      std::max(std::min(tiles_of(wanted, spatial), tiles / least_tiles), tiles_of(tiles, most_tiles));
  t->rows = static_cast<int32_t>(rows);
  t->channels = static_cast<int32_t>(tiles_of(tiles, std::max<int64_t>(splits, 1)) * tile_oc);
}

// What the schedule allocates for a task: sums, a block's copy of x, and where weights are converted a tile of them.
int64_t scratch_bytes(const hconv_problem &p, const Geometry &g, const Variant &v, const CpuTasks &t) {
  const int64_t columns = g.output_width + std::max<int64_t>(v.tile_ow, copied);
  const int64_t sums = t.channels * columns * t.rows;
  const int64_t x = (columns + p.kernel_width + 2 * copied) * (t.rows + p.kernel_height - 1) * t.block_ic;
  const int64_t w = v.type == Type::f32 ? 0 : v.tile_oc * taps_of(p) * t.block_ic;
  return scratch_taken(4 * sums) + scratch_taken(4 * x) + (w ? scratch_taken(4 * w) : 0);
}

// Of the ways to cut an image into equal rows the one with the least work: a register tile costs about 1.5 columns
// besides its own, of which there is an even number. Rows longer than this would change block_ic.
constexpr int64_t longest_free_row = staged_floats / block_taps;

int64_t free_row(int64_t pixels, int64_t width, int64_t tile_ow, int64_t most) {
  const auto cost = [&](int64_t row) { // in half columns
    return pixels / row * (2 * round_up(row, 2) + 3 * tiles_of(row, tile_ow));
  };
  int64_t best = width;
  for (int64_t row = 1; row <= std::min(most, pixels); ++row)
    if (pixels % row == 0 && cost(row) < cost(best))
      best = row;
  return best;
}

} // namespace

bool has_free_rows(const hconv_problem &p) {
  const hconv_padding &pad = p.padding;
  return taps_of(p) == 1 && pad.top == 0 && pad.bottom == 0 && pad.left == 0 && pad.right == 0;
}

double cpu_microseconds(const hconv_problem &p, const Variant &v, const Variant *product) {
  return cpu_cost_of(v, product, p) / speed_of(v.target);
}

bool worth_threads(const hconv_problem &p, const Variant &v, const Variant *product) {
  return cpu_microseconds(p, v, product) >= 2 * microseconds_worth_a_thread;
}

Workspace workspace_of(const CpuTasks &t) {
  return {t.count == 0 ? 0 : round_up(t.threads * t.task_bytes + scratch_alignment, 256), 0};
}

int pieces_in(const CpuTasks &t, size_t bytes) {
  const int64_t usable = static_cast<int64_t>(bytes) - scratch_alignment;
  return usable < t.task_bytes ? 0 : static_cast<int>(std::min<int64_t>(usable / t.task_bytes, t.threads));
}

CpuTasks cpu_tasks(const hconv_problem &problem, const Variant &v, int threads) {
  hconv_problem p = problem;
  if (p.batch == 0)
    return {};
  p.batch = std::clamp<int64_t>(p.batch, 1, launch_batch(geometry_of(p), {}));
  const double worth = cpu_microseconds(p, v, nullptr) / microseconds_worth_a_thread;
  const bool small = !worth_threads(p, v, nullptr);
  const int64_t most_tasks = small || threads == 1 ? 1 : tasks_per_thread * threads;
  const int64_t wanted = std::max<int64_t>(static_cast<int64_t>(std::min(worth, static_cast<double>(most_tasks))), 1);
  if (has_free_rows(p) && p.width <= longest_free_row) {
    const int64_t pixels = p.height * p.width, splits = std::max<int64_t>(p.out_channels / least_channels(p), 1);
    const int64_t most = std::clamp(p.batch * pixels * splits / wanted, least_outputs, longest_free_row);
    p.width = free_row(pixels, p.width, std::max(v.tile_ow, 1), most);
    p.height = pixels / p.width;
  }
  const Geometry g = geometry_of(p);
  CpuTasks t;
  t.height = g.output_height;
  t.width = g.output_width;
  t.block_ic = static_cast<int32_t>(block_channels(p, g));
  t.images = small ? static_cast<int32_t>(p.batch) : 1;
  cut(p, g, std::max(v.tile_oc, 1), wanted, small, &t);
  t.count = tiles_of(p.batch, t.images) * tiles_of(g.output_height, t.rows) * tiles_of(p.out_channels, t.channels);
  t.threads = small ? 1 : static_cast<int>(std::min<int64_t>(threads, t.count));
  t.task_bytes = scratch_bytes(p, g, v, t);
  return t;
}

} // namespace hconv::runtime
