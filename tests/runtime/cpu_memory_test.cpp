// The finished library's direct CPU variants: their scratch memory comes from the workspace and is bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "counted_mallocs.h"
#include "environment_guard.h"
#include "runtime/cpu_tasks.h"
#include "runtime/dispatch.h"
#include "runtime/scratch.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;

constexpr DLDataType types[] = {float32, bfloat16, float16};

/// B, IC, OC, H, W, KH, KW and the padding on all sides: rows of every remainder, one task and many, long rows, taps
/// beyond a block, channels beyond a task, images that a small call computes as one task.
struct Shape {
  int64_t b, ic, oc, h, w, kh, kw;
  int32_t padding;
};
const Shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1, 0},      {3, 2, 5, 7, 6, 3, 2, 1},      {40, 3, 17, 5, 5, 3, 3, 0},
    {2, 70, 300, 9, 40, 1, 1, 0},  {1, 64, 64, 30, 30, 3, 3, 1},  {1, 5, 33, 60, 61, 8, 7, 0},
    {1, 2, 3, 3, 5000, 1, 9, 0},   {1, 2, 16, 20, 20, 20, 20, 3}, {1, 300, 40, 9, 9, 3, 3, 0},
    {1, 1, 16, 200, 200, 1, 1, 0}, {1, 3, 600, 4, 4, 2, 2, 0},    {2, 16, 32, 6, 29, 5, 1, 2},
};

hconv_problem problem_of(const Shape &s, DLDataType type) {
  hconv_problem p = square_problem(cpu, s.b, s.ic, s.h, s.kh, s.kw, type);
  p.out_channels = s.oc;
  p.width = s.w;
  p.padding = {s.padding, s.padding, s.padding, s.padding};
  return p;
}

/// Numbers of any type, none of them infinite.
void fill(Tensor &t) {
  auto *bits = static_cast<uint16_t *>(t.dl.data);
  if (t.dl.dtype.bits == 32)
    return t.fill(5);
  for (int64_t i = 0; i < t.count(); ++i)
    bits[i] = static_cast<uint16_t>(0x3800 + i * 37 % 0x400);
}

std::string bytes_of(const Tensor &y) {
  return {static_cast<const char *>(y.dl.data), static_cast<size_t>(y.count() * y.dl.dtype.bits / 8)};
}

/// y of one run with `bytes` of workspace, or with none.
std::string result_of(const hconv_plan *plan, Case &c, Bytes &packed, size_t bytes) {
  Bytes workspace(bytes);
  const int64_t before = mallocs(), allocated = scratch_from_malloc();
  const hconv_status status =
      hconv_run(plan, &c.x.dl, packed.data(), nullptr, &c.y.dl, bytes ? workspace.data() : nullptr, bytes, nullptr);
  const int64_t after = mallocs();
  EXPECT_EQ(status, HCONV_OK) << hconv_last_error();
  if (bytes) {
    EXPECT_EQ(after - before, 0) << "calls of malloc in a run";
    EXPECT_EQ(scratch_from_malloc(), allocated);
  } else
    EXPECT_GT(scratch_from_malloc(), allocated);
  return bytes_of(c.y);
}

const char *threads_of_runs[] = {"1", "2", "3", "7"};

TEST(CpuMemory, ARunWithItsWorkspaceAllocatesNothingInAnyVariant) {
  for (const Variant &v : variants()) {
    const Machine machine = machine_of(cpu);
    if (v.algorithm != Algorithm::direct || is_cuda(v.target) || (v.target == Target::cpu_avx512 && !machine.avx512) ||
        (v.target == Target::cpu_avx2 && !machine.avx2))
      continue;
    EnvironmentGuard pin("HCONV_VARIANT", v.name);
    for (const Shape &s : shapes) {
      Case c(problem_of(s, types[static_cast<int>(v.type)]));
      fill(c.x), fill(c.w);
      std::string first;
      for (const char *threads : threads_of_runs) {
        SCOPED_TRACE(testing::Message() << v.name << ", " << s.b << " " << s.ic << " " << s.oc << " " << s.h << " "
                                        << s.w << ", " << threads << " threads");
        EnvironmentGuard guard("HCONV_NUM_THREADS", threads);
        PlanHolder plan(c.problem);
        ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
        Bytes packed(hconv_plan_packed_bytes(plan));
        ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
        const std::string without = result_of(plan, c, packed, 0); // which starts the pool's threads, too
        first = first.empty() ? without : first;
        EXPECT_TRUE(without == first);
        EXPECT_TRUE(result_of(plan, c, packed, hconv_plan_workspace_bytes(plan)) == first);
      }
    }
  }
}

TEST(CpuMemory, LessWorkspaceMeansFewerThreads) {
  EnvironmentGuard guard("HCONV_NUM_THREADS", "3");
  hconv_problem p = square_problem(cpu, 1, 64, 30, 3, 3);
  p.math = HCONV_MATH_STRICT; // a direct variant
  const CpuTasks t = [&] {
    Choice choice;
    EXPECT_EQ(choose(p, machine_of(cpu), environment(), &choice), HCONV_OK);
    return cpu_tasks(p, *choice.variant, 3);
  }();
  ASSERT_EQ(t.threads, 3);
  const size_t piece = static_cast<size_t>(t.task_bytes), align = scratch_alignment;
  EXPECT_EQ(pieces_in(t, 0), 0);
  EXPECT_EQ(pieces_in(t, piece + align - 1), 0);
  EXPECT_EQ(pieces_in(t, piece + align), 1);
  EXPECT_EQ(pieces_in(t, 2 * piece + align), 2);
  EXPECT_EQ(pieces_in(t, 9 * piece + align), 3);
  EXPECT_EQ(pieces_in(t, static_cast<size_t>(workspace_of(t).full)), 3);
  Case c(p);
  PlanHolder plan(p);
  Bytes packed(hconv_plan_packed_bytes(plan));
  ASSERT_EQ(hconv_pack(plan, &c.w.dl, packed.data(), packed.size, nullptr), HCONV_OK);
  const std::string expected = result_of(plan, c, packed, 0);
  for (size_t bytes : {piece + align, 2 * piece + align, 3 * piece + align, size_t{1} << 24})
    EXPECT_TRUE(result_of(plan, c, packed, bytes) == expected) << bytes;
}

// docs/cpu.md: the copy of x, the sums and converted weights of a task are bounded, whatever KH * KW is.
TEST(CpuMemory, AThreadTakesAboutTwoMegabytesAtMost) {
  Variant v{};
  v.algorithm = Algorithm::direct;
  v.target = Target::cpu_avx512;
  v.type = Type::bf16;
  v.tile_oc = 32, v.tile_ow = 14;
  int64_t most = 0;
  for (int64_t ic : {1, 3, 64, 2048})
    for (int64_t oc : {1, 64, 512, 4096})
      for (int64_t size : {8, 30, 128, 500, 2000})
        for (int64_t k : {1, 2, 3, 7, 16, 32, 64})
          for (int threads : {1, 2, 16, 256}) {
            hconv_problem p = square_problem(cpu, 2, ic, size + k - 1, k, k, bfloat16);
            p.out_channels = oc;
            const CpuTasks t = cpu_tasks(p, v, threads);
            most = std::max(most, t.task_bytes);
            EXPECT_LE(t.threads, threads);
            EXPECT_LE(t.threads, t.count);
          }
  EXPECT_LE(most, 2 << 20);
}

// An image of a 1x1 kernel is as many rows as suit the tiles, and none of them changes how sums are cut.
TEST(CpuTasks, TakePixelsOfA1x1KernelInRowsOfAnyLength) {
  Variant v{};
  v.algorithm = Algorithm::direct;
  v.target = Target::cpu_avx512;
  v.tile_oc = 32, v.tile_ow = 14;
  const hconv_problem small = square_problem(cpu, 1, 512, 7, 1, 1);
  EXPECT_EQ(cpu_tasks(small, v, 1).width, 49);
  EXPECT_EQ(cpu_tasks(small, v, 1).height, 1);
  for (int64_t size : {1, 5, 12, 31, 32, 64, 224, 511, 512, 513, 1000}) {
    hconv_problem p = square_problem(cpu, 2, 300, size, 1, 1);
    const CpuTasks one = cpu_tasks(p, v, 1);
    for (int threads : {2, 16, 256}) {
      const CpuTasks t = cpu_tasks(p, v, threads);
      EXPECT_EQ(t.width * t.height, size * size) << size;
      EXPECT_EQ(t.block_ic, one.block_ic) << size;
    }
    p.padding.left = 1;
    EXPECT_EQ(cpu_tasks(p, v, 1).width, size + 1);
    EXPECT_EQ(cpu_tasks(p, v, 1).height, size);
  }
}

TEST(CpuMemory, ExplainTellsIt) {
  EnvironmentGuard guard("HCONV_NUM_THREADS", "2");
  hconv_problem p = square_problem(cpu, 1, 64, 30, 3, 3);
  p.math = HCONV_MATH_STRICT; // a direct variant
  const auto j = nlohmann::json::parse(explained(p, HCONV_JSON));
  PlanHolder plan(p);
  EXPECT_EQ(j["workspace_bytes"], hconv_plan_workspace_bytes(plan));
  EXPECT_EQ(j["minimum_workspace_bytes"], 0);
  EXPECT_EQ(j["tasks"]["threads"], 2);
  EXPECT_GE(j["workspace_bytes"], 2 * j["tasks"]["scratch_bytes_of_a_thread"].get<int64_t>());
  EXPECT_THAT(explained(p, HCONV_TEXT), testing::HasSubstr("threads      2 of 2 of hconv's pool, "));
}

} // namespace
