#include "pipelines.h"

using namespace Halide;

namespace hconv_test {

Func scaled() {
  ImageParam x(Float(32), 1, "x");
  Func y("y");
  Var i("i"), block("block"), thread("thread");
  y(i) = x(i) * 2.f;
  x.dim(0).set_min(0);
  y.output_buffer().dim(0).set_min(0);
  y.never_partition_all().gpu_tile(i, block, thread, 64, TailStrategy::GuardWithIf);
  return y;
}

Func scaled_vectors(bool aligned, Type type) {
  ImageParam x(type, 1, "x");
  Func y("y");
  Var i("i"), block("block"), thread("thread"), vec("vec");
  y(i) = cast(type, cast<float>(x(i)) * 2.f);
  const int lanes = 4;
  OutputImageParam out = y.output_buffer();
  x.dim(0).set_bounds(0, out.dim(0).extent());
  out.dim(0).set_bounds(0, out.dim(0).extent() / (lanes * 32) * (lanes * 32));
  if (aligned) {
    x.set_host_alignment(16);
    out.set_host_alignment(16);
  }
  y.never_partition_all().split(i, i, vec, lanes).vectorize(vec).gpu_tile(i, block, thread, 32, TailStrategy::RoundUp);
  return y;
}

Func matmul(Type type) {
  const int M = 32, N = 16, K = 8;
  ImageParam a(type, 2, "a"), b(type, 2, "b");
  Func a_tile("a_tile"), b_tile("b_tile"), sum("sum"), c("c");
  Var i("i"), j("j"), k("k"), bi("bi"), bj("bj"), ti("ti"), tj("tj"), ei("ei"), ej("ej"), f("f"), lane("lane"),
      step("step");
  a_tile(k, j) = a(k, j);
  b_tile(i, k) = b(i, k);
  RDom r(0, a.dim(0).extent() / K * K, "r");
  sum(i, j) = 0.f;
  sum(i, j) += cast<float>(a_tile(r, j)) * cast<float>(b_tile(i, r));
  c(i, j) = cast(type, sum(i, j));

  OutputImageParam out = c.output_buffer();
  for (int d = 0; d < 2; d++) {
    a.dim(d).set_min(0);
    b.dim(d).set_min(0);
    out.dim(d).set_min(0);
  }
  out.dim(0).set_extent(out.dim(0).extent() / N * N);
  out.dim(1).set_extent(out.dim(1).extent() / M * M);
  a.dim(1).set_extent(out.dim(1).extent());
  b.dim(0).set_extent(out.dim(0).extent());
  b.dim(1).set_extent(a.dim(0).extent());

  for (Func stage : {a_tile, b_tile, sum, c})
    stage.never_partition_all();
  c.split(i, bi, i, N, TailStrategy::RoundUp)
      .split(j, bj, j, M, TailStrategy::RoundUp)
      .split(i, ti, ei, 4)
      .split(j, tj, ej, 2)
      .reorder(ei, ej, ti, tj, bi, bj)
      .gpu_threads(ti, tj)
      .gpu_blocks(bi, bj);
  sum.bound_extent(i, N).bound_extent(j, M).compute_at(c, bi).store_in(MemoryType::Register);
  sum.split(i, ti, ei, 4).split(j, tj, ej, 2).reorder(ei, ej, ti, tj).gpu_threads(ti, tj);
  RVar chunk("chunk"), kk("kk");
  sum.update()
      .split(r.x, chunk, kk, K)
      .split(i, ti, ei, 4)
      .split(j, tj, ej, 2)
      .reorder(ei, ej, kk, ti, tj, chunk)
      .gpu_threads(ti, tj);
  // 4 x 16 threads stage 8 x 32 elements of a and 16 x 8 of b.
  a_tile.bound_extent(k, K).bound_extent(j, M).compute_at(sum, chunk).store_in(MemoryType::GPUShared);
  b_tile.bound_extent(i, N).bound_extent(k, K).compute_at(sum, chunk).store_in(MemoryType::GPUShared);
  a_tile.fuse(k, j, f).split(f, step, f, 64).split(f, f, lane, 4).reorder(step, lane, f).gpu_threads(lane, f);
  b_tile.fuse(i, k, f).split(f, step, f, 64).split(f, f, lane, 4).reorder(step, lane, f).gpu_threads(lane, f);
  return c;
}

Func mma_matmul(Type type, int n_tiles) {
  const int M = 64, N = 8 * n_tiles, K = 32, block_m = 32, step = 16, pitch = step + 8;
  ImageParam a(type, 2, "a"), b(type, 2, "b");
  Func a_tile("a_tile"), b_tile("b_tile"), sum("sum"), c("c");
  Var m("m"), n("n"), kv("kv"), bm("bm"), mt("mt"), nt("nt"), m_half("m_half"), pair("pair"), g("g"), q("q"),
      lane("lane"), vec("vec"), part("part"), row("row");
  a_tile(kv, m) = a(kv, m);
  b_tile(kv, n) = b(kv, n);
  RDom r(0, K, "r");
  sum(n, m) = 0.f;
  sum(n, m) += cast<float>(a_tile(r, m)) * cast<float>(b_tile(r, n));
  c(n, m) = sum(n, m);

  a.set_host_alignment(16);
  b.set_host_alignment(16);
  a.dim(0).set_bounds(0, K).dim(1).set_bounds(0, M).set_stride(K);
  b.dim(0).set_bounds(0, K).dim(1).set_bounds(0, N).set_stride(K);
  c.output_buffer().dim(0).set_bounds(0, N).dim(1).set_bounds(0, M).set_stride(N);

  for (Func stage : {a_tile, b_tile, sum, c})
    stage.never_partition_all();
  auto lanes = [&](Stage s) {
    s.split(n, nt, n, 8).split(n, q, pair, 2).split(m, mt, m, 16).split(m, m_half, g, 8).fuse(q, g, lane);
  };
  c.split(m, bm, m, block_m);
  lanes(c);
  c.reorder(pair, nt, m_half, mt, lane, bm).gpu_threads(lane).gpu_blocks(bm);
  sum.bound_extent(n, N).bound_extent(m, block_m).compute_at(c, bm).store_in(MemoryType::Register);
  lanes(sum);
  sum.reorder(pair, nt, m_half, mt, lane).gpu_threads(lane);
  RVar chunk("chunk"), k("k");
  sum.update().split(r.x, chunk, k, step);
  lanes(sum.update());
  sum.update().reorder(pair, m_half, k, nt, mt, lane, chunk).gpu_threads(lane);
  // Two lanes stage a row of 16 elements, 16 bytes each.
  auto stage = [&](Func f, Var rows, int extent) {
    f.bound_extent(kv, step)
        .bound_extent(rows, extent)
        .align_storage(kv, pitch)
        .compute_at(sum, chunk)
        .store_in(MemoryType::GPUShared)
        .split(kv, part, vec, 8)
        .vectorize(vec)
        .split(rows, row, rows, 16, TailStrategy::GuardWithIf)
        .fuse(part, rows, lane)
        .reorder(vec, row, lane)
        .gpu_threads(lane);
  };
  stage(a_tile, m, block_m);
  stage(b_tile, n, N);
  return c;
}

Func wgmma_product(Type type, int taps, bool b_moves, bool a_dense) {
  const int M = 64, N = 128, K = 64, block_n = 64, chunk_k = 32, warps = 4;
  ImageParam a(type, b_moves ? 3 : 2, "a"), b(type, b_moves ? 2 : 3, "b");
  Func a_tile("a_tile"), b_tile("b_tile"), sum("sum"), c("c");
  Var m("m"), n("n"), t("t"), kv("kv"), bn("bn"), nt("nt"), m_half("m_half"), pair("pair"), g("g"), q("q"),
      lane("lane"), warp("warp"), vec("vec"), part("part"), row("row");
  RDom r(0, K, 0, taps, "r");
  sum(n, m) = 0.f;
  // One factor is moved by a tap, of the other each tap has its own.
  if (b_moves) {
    a_tile(kv, m, t) = a(kv, m, t);
    b_tile(kv, n) = b(kv, n);
    sum(n, m) += cast<float>(a_tile(r.x, m, r.y)) * cast<float>(b_tile(r.x, n + r.y));
  } else {
    a_tile(kv, m) = a(kv, m);
    b_tile(kv, n, t) = b(kv, n, t);
    sum(n, m) += cast<float>(a_tile(r.x, m + r.y)) * cast<float>(b_tile(r.x, n, r.y));
  }
  c(n, m) = cast(type, sum(n, m));

  a.set_host_alignment(16);
  b.set_host_alignment(16);
  auto bounds = [&](ImageParam &p, int rows, bool moves) {
    p.dim(0).set_bounds(0, K).dim(1).set_bounds(0, moves ? rows + taps - 1 : rows).set_stride(K);
    if (!moves)
      p.dim(2).set_bounds(0, taps).set_stride(K * rows);
  };
  bounds(a, M, !b_moves);
  bounds(b, N, b_moves);
  c.output_buffer().dim(0).set_bounds(0, N).dim(1).set_bounds(0, M).set_stride(N);

  for (Func stage : {a_tile, b_tile, sum, c})
    stage.never_partition_all();
  auto lanes = [&](Stage s) {
    s.split(n, nt, n, 8).split(n, q, pair, 2).split(m, warp, m, 16).split(m, m_half, g, 8).fuse(q, g, lane);
  };
  c.split(n, bn, n, block_n);
  lanes(c);
  c.reorder(pair, nt, m_half, lane, warp, bn).gpu_threads(lane, warp).gpu_blocks(bn);
  sum.bound_extent(n, block_n).bound_extent(m, M).compute_at(c, bn).store_in(MemoryType::Register);
  lanes(sum);
  sum.reorder(pair, nt, m_half, lane, warp).gpu_threads(lane, warp);
  RVar chunk("chunk"), k("k"), step("step");
  sum.update().split(r.x, chunk, step, chunk_k).split(step, step, k, 16);
  lanes(sum.update());
  sum.update().reorder(pair, m_half, k, nt, step, r.y, lane, warp, chunk).gpu_threads(lane, warp);
  // Four lanes stage a row of 32 elements, 16 bytes each.
  auto stage = [&](Func f, Var rows, int pitch) {
    f.bound_extent(kv, chunk_k)
        .align_storage(kv, pitch)
        .compute_at(sum, chunk)
        .store_in(MemoryType::GPUShared)
        .split(kv, part, vec, 8)
        .vectorize(vec)
        .split(rows, row, rows, 32 * warps / 4, TailStrategy::GuardWithIf)
        .fuse(part, rows, lane)
        .split(lane, warp, lane, 32)
        .reorder(vec, row, lane, warp)
        .gpu_threads(lane, warp);
  };
  if (b_moves) {
    a_tile.bound_extent(m, M).bound_extent(t, taps).fuse(m, t, m);
    b_tile.bound_extent(n, block_n + taps - 1);
  } else {
    a_tile.bound_extent(m, M + taps - 1).align_storage(m, 32); // b_tile follows: at a multiple of 8 of its rows
    b_tile.bound_extent(n, block_n).bound_extent(t, taps).fuse(n, t, n);
  }
  stage(a_tile, m, a_dense ? chunk_k : chunk_k + 8);
  stage(b_tile, n, chunk_k);
  return c;
}

} // namespace hconv_test
