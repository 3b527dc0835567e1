#include "direct_cpu.h"

using namespace Halide;

namespace hconv {

void schedule_direct_cpu(DirectConv2D &conv, Func y, const DirectTiles &t, int lanes) {
  (void)lanes;
  Var ow_block("ow_block"), oc_block("oc_block"), ow("ow_in"), oc("oc_in"), batch_oh("batch_oh");
  y.split(conv.ow, ow_block, ow, t.thread_ow, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_block, oc, t.thread_oc, TailStrategy::GuardWithIf)
      .fuse(conv.oh, conv.b, batch_oh)
      .reorder(ow, oc, ow_block, oc_block, batch_oh)
      .parallel(batch_oh);
  conv.acc.bound_extent(conv.ow, t.thread_ow)
      .bound_extent(conv.oc, t.thread_oc)
      .bound_extent(conv.oh, 1)
      .bound_extent(conv.b, 1)
      .compute_at(y, ow_block)
      .store_in(MemoryType::Stack)
      .reorder(conv.oc, conv.ow)
      .reorder_storage(conv.oc, conv.ow, conv.oh, conv.b)
      .vectorize(conv.oc)
      .unroll(conv.ow);
  conv.acc.update().reorder(conv.oc, conv.ow, conv.r.x, conv.r.y, conv.r.z).vectorize(conv.oc).unroll(conv.ow);
}

} // namespace hconv
