#include "pipeline.h"

#include "async_copies.h"
#include "copy_addresses.h"
#include "read_addresses.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

// Counters of the steps that are being staged and computed: one element a loop, then the slot, which is the copy.
const std::string kAhead = "ahead", kNow = "now";

Expr counter(const std::string &counters, int i) {
  return load(Int(32), counters, i);
}

Stmt zero(const std::string &counters, int count) {
  std::vector<Stmt> stores;
  for (int i = 0; i < count; i++)
    stores.push_back(store(counters, 0, i));
  return Block::make(stores);
}

Stmt loop_over_steps(const Expr &extent, const Stmt &body) {
  return For::make("step", 0, extent, ForType::Serial, Partition::Never, DeviceAPI::None, body);
}

/** Makes the pipeline of one nest. */
class Builder {
public:
  Builder(const PipelineRequest &request, const BlockedSums &sums, const PipelineNest &nest, const KernelArrays &arrays,
          const Lets &around)
      : request(request), nest(nest), arrays(arrays), around(around), levels(int(nest.loops.size())),
        totals(request, sums, nest, arrays) {}

  Stmt build() const {
    const StagedCopies copies =
        copy_addresses(async_copies(Block::make(nest.staging), arrays), nest, around, request.block);
    const Stmt staging = in_copy(at_counters(copies.staging, kAhead), ".write", kAhead);
    Stmt stage_next = Block::make({staging, advance(kAhead, levels - 1), advance_slot(kAhead)});
    const StagedReads reads = read_addresses(nest, around);
    Stmt compute = in_copy(at_counters(with_lets(reads.compute, nest.lets), kNow), ".read", kNow);
    if (request.one_group)
      compute =
          Block::make({call_statement("hconv::wgmma_fence", {}), compute, call_statement("hconv::wgmma_commit", {})});
    if (request.wgmma && request.kept() == 0)
      compute = Block::make(compute, finished());
    Stmt computed = Block::make({totals.after(compute), advance(kNow, levels - 1), advance_slot(kNow)});

    Expr steps = 1;
    for (const For *loop : nest.loops)
      steps = steps * loop->extent;
    Expr total = Variable::make(Int(32), "steps"), step = Variable::make(Int(32), "step");
    Stmt commit = call_statement("hconv::cp_async_commit", {});
    const int ahead_by = request.stages - 1 - request.kept();
    Stmt first = loop_over_steps(ahead_by, Block::make(IfThenElse::make(step < total, stage_next), commit));
    Stmt stage = Block::make(IfThenElse::make(step + ahead_by < total, stage_next), commit);
    // One group is issued at once: the copies' addresses are computed while it is under way.
    Stmt work = request.one_group && request.kept() > 0 ? Block::make({computed, stage, all_but_newest()})
                                                        : Block::make(stage, computed);
    Stmt main = loop_over_steps(total, Block::make({arrived(ahead_by - 1), barrier(), work}));
    // Inside the if the loop has a step for certain: ptxas keeps wgmma under way only where no path skips the loop.
    if (request.kept() > 0)
      main = IfThenElse::make(0 < total, Block::make(main, finished()));
    // No copy may still be on its way, and no thread still read, when the arrays' memory is used again.
    Stmt drain = Block::make(wait(0), barrier());
    Stmt all = totals.around(Block::make({zero(kAhead, levels + 1), zero(kNow, levels + 1), first, main, drain}));
    for (const Stmt &kept : {copies.first, reads.first})
      all = kept.defined() ? Block::make(kept, all) : all;
    all = copies.around(reads.around(LetStmt::make("steps", steps, all)));
    for (const std::string &counters : {kAhead, kNow})
      all = Allocate::make(counters, Int(32), MemoryType::Register, {levels + 1}, const_true(), all);
    return all;
  }

private:
  const PipelineRequest &request;
  const PipelineNest &nest;
  const KernelArrays &arrays;
  const Lets &around;
  const int levels;
  const Totals totals;

  static Stmt wait(int groups) { return call_statement("hconv::cp_async_wait<" + std::to_string(groups) + ">", {}); }

  /** All but the newest groups of copies are there, and where wgmma will find them. */
  Stmt arrived(int groups) const {
    return request.wgmma ? Block::make(wait(groups), call_statement("hconv::fence_proxy_async", {})) : wait(groups);
  }

  /** Only the newest group of wgmma is under way: the copies of the step behind it may go into what older ones read. */
  static Stmt all_but_newest() { return call_statement("hconv::wgmma_wait<1>", {}); }

  /** No wgmma is under way. */
  static Stmt finished() { return call_statement("hconv::wgmma_wait<0>", {}); }

  /** Binds the loops' variables to the counters around s. */
  Stmt at_counters(Stmt s, const std::string &counters) const {
    for (int i = levels; i-- > 0;)
      s = LetStmt::make(nest.loops[size_t(i)]->name, counter(counters, i), s);
    return s;
  }

  /** Moves an odometer to the next step: the innermost loop's counter first. */
  Stmt advance(const std::string &counters, int level) const {
    Stmt next = store(counters, counter(counters, level) + 1, level);
    if (level == 0)
      return next;
    // The extents of inner loops do not depend on outer loops' variables, as PipelineNest states.
    Stmt carry = Block::make(store(counters, 0, level), advance(counters, level - 1));
    return Block::make(next, IfThenElse::make(counter(counters, level) == nest.loops[size_t(level)]->extent, carry));
  }

  Stmt advance_slot(const std::string &counters) const {
    Expr slot = counter(counters, levels);
    return store(counters, select(slot == request.stages - 1, 0, slot + 1), levels);
  }

  /** Accesses of the staged arrays in s go to the copy that the slot of the counters names. */
  Stmt in_copy(Stmt s, const std::string &suffix, const std::string &counters) const {
    std::map<std::string, std::string> names;
    for (const std::string &array : nest.staged)
      names[array] = array + suffix;
    s = rename_arrays(s, names);
    for (const std::string &array : nest.staged) {
      const KernelArrays::Array &a = arrays.shared.at(array);
      s = LetStmt::make(array + suffix, address(a.type, array, counter(counters, levels) * int(a.size)), s);
    }
    return s;
  }
};

/** Puts the pipeline in the place of the first nest that fits. */
class Pipeline : public IRMutator {
public:
  Pipeline(const PipelineRequest &request, const BlockedSums &sums, const KernelArrays &arrays)
      : request(request), sums(sums), arrays(arrays) {}

  bool found = false;
  std::set<std::string> staged;

private:
  const PipelineRequest &request;
  const BlockedSums &sums;
  const KernelArrays &arrays;
  Lets lets; // around the current statement

  using IRMutator::visit;
  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }
  Stmt visit(const For *op) override {
    const auto nest = found ? std::nullopt : take_apart(op, request, arrays);
    if (!nest)
      return IRMutator::visit(op);
    found = true;
    staged = nest->staged;
    return Builder(request, sums, *nest, arrays, lets).build();
  }
};

/** Makes room for all copies. */
class GrowArrays : public IRMutator {
public:
  GrowArrays(const std::set<std::string> &staged, int stages) : staged(staged), stages(stages) {}

private:
  const std::set<std::string> &staged;
  int stages;
  using IRMutator::visit;
  Stmt visit(const Allocate *op) override {
    if (!staged.count(op->name))
      return IRMutator::visit(op);
    return Allocate::make(op->name, op->type, op->memory_type, {Expr(int(copy_size(op) * stages))}, op->condition,
                          mutate(op->body));
  }
};

} // namespace

Stmt pipeline(const Stmt &body, const PipelineRequest &request, const BlockedSums &sums) {
  if (request.loop.empty() || request.stages < 2)
    return body;
  const KernelArrays arrays = arrays_of(body);
  Pipeline pass(request, sums, arrays);
  Stmt result = pass.mutate(body);
  _halide_user_assert(pass.found) << "No serial loop " << request.loop << " to make a pipeline of " << request.stages
                                  << " stages";
  return simplify(GrowArrays(pass.staged, request.stages).mutate(result));
}

} // namespace hconv
