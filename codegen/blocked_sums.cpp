#include "blocked_sums.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr const char *kTotals = "totals";
constexpr int64_t kMultiprocessor = 228 * 1024, kReserved = 1024; // bytes of shared memory; the system's of each block

/** As layout_shared_memory places arrays. */
int64_t padded(int64_t bytes) {
  return (bytes + 127) / 128 * 128;
}

Expr sum_index() {
  return Variable::make(Int(32), "sum");
}

} // namespace

Totals::Totals(const PipelineRequest &request, const BlockedSums &sums, const PipelineNest &nest,
               const KernelArrays &arrays)
    : sums(sums) {
  if (sums.steps <= 0)
    return;
  const std::set<std::string> added_to = arrays_added_to(nest.compute);
  int found = 0;
  for (const auto &[name, a] : arrays.private_floats) {
    if (!added_to.count(name))
      continue;
    expect_pipeline(found == 0, request, "two float32 arrays, " + array + " and " + name + ", could be its sums");
    array = name;
    found = int(a.size);
  }
  expect_pipeline(found > 0, request, "blocks of its sums are asked for, but it adds to no private float32 array");
  int64_t bytes = kReserved + padded(int64_t(found) * sums.threads * 4);
  for (const auto &[name, a] : arrays.shared)
    bytes += padded(a.size * a.type.bytes() * (nest.staged.count(name) ? request.stages : 1));
  const bool fits = bytes * sums.min_blocks <= kMultiprocessor;
  expect_pipeline(fits || !sums.only_long, request,
                  "totals of its sums leave no room for " + std::to_string(sums.min_blocks) + " blocks of " +
                      std::to_string(bytes) + " bytes");
  if (fits)
    count = found;
}

Expr Totals::any() const {
  return Variable::make(Int(32), "steps") > sums.steps;
}

/** Element i of this thread's totals: neighbouring threads lie side by side. */
Expr Totals::index_of(const Expr &i) const {
  return i * sums.threads + Variable::make(Int(32), kThreadIndex[0]);
}

Stmt Totals::for_each(const Stmt &body) const {
  return For::make("sum", 0, count, ForType::Serial, Partition::Never, DeviceAPI::None, body);
}

/** After a block of steps: total += sum; sum = 0. */
Stmt Totals::after(const Stmt &compute) const {
  if (count == 0)
    return compute;
  const Expr i = sum_index(), step = Variable::make(Int(32), "step");
  Expr total = load(Float(32), kTotals, index_of(i)), sum = load(Float(32), array, i);
  Stmt move = Block::make(store(kTotals, total + sum, index_of(i)), store(array, 0.f, i));
  Expr full = (step + 1) % sums.steps == 0;
  return Block::make(compute, IfThenElse::make(sums.only_long ? full && any() : full, for_each(move)));
}

Stmt Totals::around(const Stmt &steps) const {
  if (count == 0)
    return steps;
  const Expr i = sum_index();
  Expr total = load(Float(32), kTotals, index_of(i)), sum = load(Float(32), array, i);
  Stmt start = for_each(store(kTotals, 0.f, index_of(i)));
  Stmt end = for_each(store(array, total + sum, i));
  if (sums.only_long) {
    start = IfThenElse::make(any(), start);
    end = IfThenElse::make(any(), end);
  }
  return Allocate::make(kTotals, Float(32), MemoryType::GPUShared, {count * sums.threads}, const_true(),
                        Block::make({start, steps, end}));
}

} // namespace hconv
