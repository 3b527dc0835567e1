#include "direct_cpu.h"

using namespace Halide;

namespace hconv {
namespace {
Expr ceil_div(const Expr &a, const Expr &b) {
  return (a + b - 1) / b;
}
} // namespace

void schedule_direct_cpu(DirectConv2D &conv, Func y, const DirectTiles &t, const DirectCpuExtents &e, int lanes) {
  const int toc = t.thread_oc, tow = t.thread_ow;
  Expr ow_tile = ceil_div(e.ow, ceil_div(e.ow, 224));
  Expr rows = clamp(224 / ow_tile, 1, e.oh);
  rows = ceil_div(e.oh, ceil_div(e.oh, rows));
  Expr chunk = clamp(256 / (e.kh * e.kw), 1, e.packed_ic);
  Expr oc_task = toc * 2;
  Expr width = ceil_div(ow_tile, ceil_div(ow_tile, tow));

  Var ow_task("ow_task"), oh_task("oh_task"), oc_t("oc_task"), ow("ow_in"), oh("oh_in"), oc("oc_in");
  y.split(conv.ow, ow_task, ow, ow_tile, TailStrategy::GuardWithIf)
      .split(conv.oh, oh_task, oh, rows, TailStrategy::GuardWithIf)
      .split(conv.oc, oc_t, oc, oc_task, TailStrategy::GuardWithIf)
      .reorder(ow, oh, oc, ow_task, oh_task, oc_t, conv.b)
      .parallel(conv.b)
      .parallel(oc_t)
      .parallel(oh_task);

  Var k("chunk"), ow_block("ow_block"), oc_block("oc_block");
  RVar chunks("chunks"), rz("rz");
  conv.acc.update().split(conv.r.z, chunks, rz, chunk, TailStrategy::GuardWithIf);
  Func part = conv.acc.update().rfactor(chunks, k);
  conv.acc.compute_at(y, ow_task).reorder_storage(conv.oc, conv.ow, conv.oh, conv.b).vectorize(conv.oc, lanes);
  Stage sum = conv.acc.update();
  auto shape = [&](Stage s, int w) {
    s.split(conv.ow, ow_block, ow, w, TailStrategy::RoundUp)
        .split(conv.oc, oc_block, oc, toc, TailStrategy::RoundUp)
        .reorder(oc, ow, ow_block, conv.oh, oc_block, chunks, conv.b)
        .vectorize(oc, lanes)
        .unroll(oc)
        .unroll(ow);
  };
  for (int w : {4, 6, 8, 10, 12})
    if (w < tow)
      shape(sum.specialize(width <= w), w);
  shape(sum, tow);
  part.compute_at(conv.acc, ow_block)
      .store_in(MemoryType::Register)
      .reorder_storage(conv.oc, conv.ow, conv.oh, conv.b, k);
  part.reorder(conv.oc, conv.ow).vectorize(conv.oc, lanes).unroll(conv.oc).unroll(conv.ow);
  part.update()
      .reorder(conv.oc, conv.ow, conv.r.x, conv.r.y, rz)
      .vectorize(conv.oc, lanes)
      .unroll(conv.oc)
      .unroll(conv.ow);

  conv.x_tile.compute_at(conv.acc, chunks).store_in(MemoryType::Heap).vectorize(conv.xw, lanes);
  conv.x_tile.update().vectorize(conv.xw, lanes);
}

} // namespace hconv
