#include "pipeline.h"

#include "constant_loops.h"
#include <set>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

Stmt call_statement(const std::string &name, const std::vector<Expr> &args) {
  return Evaluate::make(Call::make(Int(32), name, args, Call::Extern));
}

Stmt barrier() {
  return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {0}, Call::Intrinsic));
}

Expr element(const std::string &array, int index) {
  return Load::make(Int(32), array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

Stmt set_element(const std::string &array, int index, const Expr &value) {
  return Store::make(array, value, index, Parameter(), const_true(), ModulusRemainder());
}

Expr address(const Type &type, const std::string &array, const Expr &index) {
  Expr place = Load::make(type, array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
  return Call::make(Handle(), kAddressOf, {place}, Call::PureExtern);
}

bool ends_with_name(const std::string &name, const std::string &last) {
  return name == last || (name.size() > last.size() && ends_with(name, "." + last));
}

/** Elements from one copy of a shared array to the next: vector_access counts on arrays that start at multiples of 16
 * bytes. */
int64_t copy_size(const Allocate *op) {
  const int64_t whole = 16 / op->type.bytes();
  return (op->constant_allocation_size() + whole - 1) / whole * whole;
}

/** The shared arrays of a kernel, and the private float32 ones. */
struct SharedArrays : public IRVisitor {
  struct Array {
    Type type;
    int64_t size;
  };
  std::map<std::string, Array> arrays, registers;
  using IRVisitor::visit;
  void visit(const Allocate *op) override {
    if (op->memory_type == MemoryType::GPUShared)
      arrays[op->name] = {op->type, copy_size(op)};
    else if (op->type == Float(32))
      registers[op->name] = {op->type, op->constant_allocation_size()};
    IRVisitor::visit(op);
  }
};

/** Which arrays a statement reads and writes, as plain accesses or through addresses. */
struct Uses : public IRVisitor {
  std::set<std::string> read, written;
  bool barriers = false;

private:
  bool storing = false;
  using IRVisitor::visit;
  void visit(const Load *op) override {
    (storing ? written : read).insert(op->name);
    ScopedValue<bool> index(storing, false);
    IRVisitor::visit(op);
  }
  void visit(const Store *op) override {
    written.insert(op->name);
    IRVisitor::visit(op);
  }
  void visit(const Call *op) override {
    barriers |= op->is_intrinsic(Call::gpu_thread_barrier);
    const bool store = starts_with(op->name, "hconv::store_") || op->name == "hconv::scatter";
    for (size_t i = 0; i < op->args.size(); i++) {
      ScopedValue<bool> destination(storing, op->name == kAddressOf ? storing : store && i == 0);
      op->args[i].accept(this);
    }
  }
};

Uses uses_of(const Stmt &s) {
  Uses uses;
  s.accept(&uses);
  return uses;
}

/** The copies of a staging producer, made asynchronous where the hardware can. */
class AsyncCopies : public IRMutator {
public:
  explicit AsyncCopies(const std::map<std::string, SharedArrays::Array> &shared) : shared(shared) {}

private:
  const std::map<std::string, SharedArrays::Array> &shared;

  using IRMutator::visit;

  bool is_global(const Expr &e) const {
    const Load *load = e.as<Load>();
    return load && !shared.count(load->name);
  }

  static const Call *as_call(const Expr &e, const std::string &name) {
    const Call *call = e.as<Call>();
    return call && call->name == name ? call : nullptr;
  }

  Stmt visit(const Evaluate *op) override {
    const Call *store = as_call(op->value, "hconv::store_aligned");
    const Call *load = store ? as_call(store->args[1], "hconv::load_aligned") : nullptr;
    if (!load || load->type.bytes() * load->type.lanes() != 16)
      return IRMutator::visit(op);
    const Call *from = as_call(load->args[0], kAddressOf), *to = as_call(store->args[0], kAddressOf);
    if (!from || !to || !is_global(from->args[0]) || is_global(to->args[0]))
      return IRMutator::visit(op);
    return call_statement("hconv::cp_async16", {store->args[0], load->args[0], 16});
  }

  Stmt visit(const Store *op) override {
    const Type type = op->value.type();
    if (type.bytes() != 4 || !type.is_scalar() || !shared.count(op->name))
      return IRMutator::visit(op);
    Expr value = op->value, bytes = 4;
    if (const Select *select = value.as<Select>()) {
      if (is_const_zero(select->false_value)) {
        value = select->true_value;
        bytes = Select::make(select->condition, 4, 0);
      } else if (is_const_zero(select->true_value)) {
        value = select->false_value;
        bytes = Select::make(select->condition, 0, 4);
      }
    }
    if (!is_global(value))
      return IRMutator::visit(op);
    const Load *load = value.as<Load>();
    return call_statement("hconv::cp_async4",
                          {address(type, op->name, op->index), address(type, load->name, load->index), bytes});
  }
};

/** Replaces array names. */
class RenameArrays : public IRMutator {
public:
  explicit RenameArrays(const std::map<std::string, std::string> &names) : names(names) {}

private:
  const std::map<std::string, std::string> &names;

  const std::string &of(const std::string &name) const {
    const auto at = names.find(name);
    return at == names.end() ? name : at->second;
  }

  using IRMutator::visit;
  Expr visit(const Load *op) override {
    return Load::make(op->type, of(op->name), mutate(op->index), op->image, op->param, op->predicate, op->alignment);
  }
  Stmt visit(const Store *op) override {
    return Store::make(of(op->name), mutate(op->value), mutate(op->index), op->param, op->predicate, op->alignment);
  }
};

/** The loop nest to pipeline, taken apart. */
struct Nest {
  std::vector<const For *> loops;                         // outermost first
  std::vector<std::pair<std::string, Expr>> lets;         // between and inside them, in order
  std::vector<Stmt> staging;                              // producers of shared arrays
  std::vector<std::pair<std::string, Expr>> staging_lets; // that the producers see
  Stmt compute;                                           // the rest, with its lets inside
  std::set<std::string> staged;                           // arrays that the producers write
};

class Pipeline : public IRMutator {
public:
  Pipeline(const PipelineRequest &request, const BlockedSums &sums, const SharedArrays &arrays)
      : request(request), sums(sums), shared(arrays.arrays), registers(arrays.registers) {}

  bool found = false;
  std::set<std::string> staged;

private:
  const PipelineRequest &request;
  const BlockedSums &sums;
  const std::map<std::string, SharedArrays::Array> &shared, &registers;

  using IRMutator::visit;

  void check(bool ok, const std::string &why) const {
    _halide_user_assert(ok) << "Loop " << request.loop << " cannot be a pipeline of " << request.stages
                            << " stages: " << why;
  }

  /** The chain of loops from `outer` down to the requested one, if they hold nothing but lets and each other. */
  bool collect(const For *outer, Nest &nest) const {
    const For *loop = outer;
    for (;;) {
      if (loop->for_type != ForType::Serial || !is_const_zero(loop->min))
        return false;
      nest.loops.push_back(loop);
      Stmt body = loop->body;
      if (ends_with_name(loop->name, request.loop)) {
        take_apart(body, nest);
        return true;
      }
      while (const LetStmt *let = body.as<LetStmt>()) {
        nest.lets.emplace_back(let->name, let->value);
        body = let->body;
      }
      loop = body.as<For>();
      if (!loop)
        return false;
    }
  }

  static bool is_barrier(const Stmt &s) {
    const Evaluate *e = s.as<Evaluate>();
    return e && Call::as_intrinsic(e->value, {Call::gpu_thread_barrier});
  }

  static void flatten(const Stmt &s, std::vector<Stmt> &list) {
    if (const Block *block = s.as<Block>()) {
      flatten(block->first, list);
      flatten(block->rest, list);
    } else {
      list.push_back(s);
    }
  }

  /** Splits the innermost body into staging and computing. */
  void take_apart(const Stmt &s, Nest &nest) const {
    std::vector<Stmt> list;
    flatten(s, list);
    while (list.size() > 1 && is_barrier(list.back()))
      list.pop_back();
    size_t next = 0;
    for (; next < list.size(); next++) {
      const ProducerConsumer *producer = list[next].as<ProducerConsumer>();
      const bool staging = producer && producer->is_producer && stage(list[next], nest);
      if (!staging && !is_barrier(list[next]))
        break;
    }
    if (const LetStmt *let = next + 1 == list.size() ? list[next].as<LetStmt>() : nullptr) {
      nest.lets.emplace_back(let->name, let->value);
      return take_apart(let->body, nest);
    }
    check(!nest.staging.empty(), "no producer of a shared array comes first in its body");
    check(next < list.size(), "nothing follows its producers");
    nest.staging_lets = nest.lets;
    nest.compute = Block::make(std::vector<Stmt>(list.begin() + int64_t(next), list.end()));
    check(!uses_of(nest.compute).barriers, "its consumers hold a barrier");
  }

  bool stage(const Stmt &producer, Nest &nest) const {
    const Uses uses = uses_of(producer);
    check(!uses.barriers, "a producer holds a barrier");
    if (uses.written.empty())
      return false;
    for (const std::string &array : uses.written) {
      if (!shared.count(array))
        return false;
      nest.staged.insert(array);
    }
    nest.staging.push_back(producer);
    return true;
  }

  static Stmt with_lets(Stmt s, const std::vector<std::pair<std::string, Expr>> &lets) {
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      s = LetStmt::make(let->first, let->second, s);
    return s;
  }

  /** Binds the loops' variables to a counter array (one element a loop) around s. */
  static Stmt at_counters(Stmt s, const Nest &nest, const std::string &counters) {
    for (size_t i = nest.loops.size(); i-- > 0;)
      s = LetStmt::make(nest.loops[i]->name, element(counters, int(i)), s);
    return s;
  }

  /** Moves an odometer to the next step: the innermost loop's counter first. */
  Stmt advance(const Nest &nest, const std::string &counters, size_t level) const {
    const int i = int(level);
    Stmt next = set_element(counters, i, element(counters, i) + 1);
    if (level == 0)
      return next;
    // The extents of inner loops must not depend on outer loops' variables, which check_extents made sure of.
    Stmt carry = Block::make(set_element(counters, i, 0), advance(nest, counters, level - 1));
    return Block::make(next, IfThenElse::make(element(counters, i) == nest.loops[level]->extent, carry));
  }

  Stmt advance_slot(const std::string &counters, int at) const {
    Expr slot = element(counters, at);
    return set_element(counters, at, select(slot == request.stages - 1, 0, slot + 1));
  }

  void check_extents(const Nest &nest) const {
    for (const For *loop : nest.loops) {
      for (const For *outer : nest.loops)
        check(!expr_uses_var(loop->extent, outer->name), "the extent of " + loop->name + " depends on " + outer->name);
      for (const auto &let : nest.lets)
        check(!expr_uses_var(loop->extent, let.first), "the extent of " + loop->name + " depends on " + let.first);
    }
  }

  /** Accesses of the staged arrays in s go to the copy that counters[at] names. */
  Stmt in_copy(Stmt s, const Nest &nest, const std::string &suffix, const std::string &counters, int at) const {
    std::map<std::string, std::string> names;
    for (const std::string &array : nest.staged)
      names[array] = array + suffix;
    s = RenameArrays(names).mutate(s);
    for (const std::string &array : nest.staged) {
      const SharedArrays::Array &a = shared.at(array);
      s = LetStmt::make(array + suffix, address(a.type, array, element(counters, at) * int(a.size)), s);
    }
    return s;
  }

  /** The private sums that the consumers add to, and the room for their totals. */
  struct Totals {
    std::string sums;
    int count = 0; // of one thread; 0: no totals
  };

  Totals totals_of(const Nest &nest) const {
    if (sums.steps <= 0)
      return {};
    const std::set<std::string> added_to = arrays_added_to(nest.compute);
    Totals totals;
    for (const auto &[name, array] : registers) {
      if (!added_to.count(name))
        continue;
      check(totals.count == 0, "two float32 arrays, " + totals.sums + " and " + name + ", could be its sums");
      totals = {name, int(array.size)};
    }
    check(totals.count > 0, "blocks of its sums are asked for, but it adds to no private float32 array");
    int64_t bytes = 1024 + int64_t(totals.count) * sums.threads * 4; // 1 KiB of each block is the system's
    for (const auto &[name, array] : shared)
      bytes += array.size * array.type.bytes() * (nest.staged.count(name) ? request.stages : 1);
    constexpr int64_t kMultiprocessor = 228 * 1024;
    const bool fits = bytes * sums.min_blocks <= kMultiprocessor;
    check(fits || !sums.only_long, "totals of its sums leave no room for " + std::to_string(sums.min_blocks) +
                                       " blocks of " + std::to_string(bytes) + " bytes");
    return fits ? totals : Totals{};
  }

  /** Arrays with a store of the form a[i] = ... a[i] ... */
  static std::set<std::string> arrays_added_to(const Stmt &s) {
    class Find : public IRVisitor {
      std::string storing;
      using IRVisitor::visit;
      void visit(const Store *op) override {
        ScopedValue<std::string> inside(storing, op->name);
        op->value.accept(this);
      }
      void visit(const Load *op) override {
        if (op->name == storing)
          names.insert(storing);
        IRVisitor::visit(op);
      }

    public:
      std::set<std::string> names;
    } find;
    s.accept(&find);
    return find.names;
  }

  /** Element i of this thread's totals: neighbouring threads lie side by side. */
  Expr total_index(const Expr &i) const { return i * sums.threads + Variable::make(Int(32), kThreadIndex[0]); }

  static Expr float_element(const std::string &array, const Expr &index) {
    return Load::make(Float(32), array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
  }

  static Stmt for_each_sum(const Totals &totals, const Stmt &body) {
    return For::make("sum", 0, totals.count, ForType::Serial, Partition::Never, DeviceAPI::None, body);
  }

  /** Whether there is more than one block of steps. */
  Expr any_totals() const { return Variable::make(Int(32), "steps") > sums.steps; }

  /** After a block of steps: total += sum; sum = 0. */
  Stmt flush(const Totals &totals) const {
    const Expr i = Variable::make(Int(32), "sum"), step = Variable::make(Int(32), "step");
    Expr total = float_element(kTotals, total_index(i)), sum = float_element(totals.sums, i);
    Stmt move = Block::make(store(kTotals, total + sum, total_index(i)), store(totals.sums, 0.f, i));
    Expr full = (step + 1) % sums.steps == 0;
    return IfThenElse::make(sums.only_long ? full && any_totals() : full, for_each_sum(totals, move));
  }

  Stmt with_totals(const Stmt &steps, const Totals &totals) const {
    const Expr i = Variable::make(Int(32), "sum");
    Expr total = float_element(kTotals, total_index(i)), sum = float_element(totals.sums, i);
    Stmt start = for_each_sum(totals, store(kTotals, 0.f, total_index(i)));
    Stmt end = for_each_sum(totals, store(totals.sums, total + sum, i));
    if (sums.only_long) {
      start = IfThenElse::make(any_totals(), start);
      end = IfThenElse::make(any_totals(), end);
    }
    return Allocate::make(kTotals, Float(32), MemoryType::GPUShared, {totals.count * sums.threads}, const_true(),
                          Block::make({start, steps, end}));
  }

  static constexpr const char *kTotals = "totals";

  static Stmt store(const std::string &array, const Expr &value, const Expr &index) {
    return Store::make(array, value, index, Parameter(), const_true(), ModulusRemainder());
  }

  Stmt build(const Nest &nest) {
    const std::string ahead = "ahead", now = "now"; // counters of the staging and of the computing side
    const int levels = int(nest.loops.size());
    Stmt staging = AsyncCopies(shared).mutate(Block::make(nest.staging));
    staging = in_copy(at_counters(with_lets(staging, nest.staging_lets), nest, ahead), nest, ".write", ahead, levels);
    Stmt stage_next = Block::make({staging, advance(nest, ahead, nest.loops.size() - 1), advance_slot(ahead, levels)});
    Stmt compute = at_counters(with_lets(nest.compute, nest.lets), nest, now);
    compute = in_copy(compute, nest, ".read", now, levels);
    const Totals totals = totals_of(nest);
    if (totals.count > 0)
      compute = Block::make(compute, flush(totals));
    Stmt computed = Block::make({compute, advance(nest, now, nest.loops.size() - 1), advance_slot(now, levels)});

    Expr steps = 1;
    for (const For *loop : nest.loops)
      steps = steps * loop->extent;
    Expr total = Variable::make(Int(32), "steps"), step = Variable::make(Int(32), "step");
    Stmt commit = call_statement("hconv::cp_async_commit", {});
    Stmt first = For::make("step", 0, request.stages - 1, ForType::Serial, Partition::Never, DeviceAPI::None,
                           Block::make(IfThenElse::make(step < total, stage_next), commit));
    Stmt body =
        Block::make({call_statement("hconv::cp_async_wait<" + std::to_string(request.stages - 2) + ">", {}), barrier(),
                     IfThenElse::make(step + (request.stages - 1) < total, stage_next), commit, computed});
    Stmt main = For::make("step", 0, total, ForType::Serial, Partition::Never, DeviceAPI::None, body);
    // No copy may still be on its way, and no thread still read, when the arrays' memory is used again.
    Stmt drain = Block::make(call_statement("hconv::cp_async_wait<0>", {}), barrier());
    Stmt all = Block::make({zero(ahead, levels + 1), zero(now, levels + 1), first, main, drain});
    if (totals.count > 0)
      all = with_totals(all, totals);
    all = LetStmt::make("steps", steps, all);
    for (const std::string &counters : {ahead, now})
      all = Allocate::make(counters, Int(32), MemoryType::Register, {levels + 1}, const_true(), all);
    return all;
  }

  static Stmt zero(const std::string &counters, int count) {
    std::vector<Stmt> stores;
    for (int i = 0; i < count; i++)
      stores.push_back(set_element(counters, i, 0));
    return Block::make(stores);
  }

  Stmt visit(const For *op) override {
    Nest nest;
    if (found || !collect(op, nest))
      return IRMutator::visit(op);
    found = true;
    check_extents(nest);
    for (const std::string &array : nest.staged)
      check(!uses_of(nest.compute).written.count(array), "its consumers write " + array);
    staged = nest.staged;
    return build(nest);
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
  SharedArrays shared;
  body.accept(&shared);
  Pipeline pass(request, sums, shared);
  Stmt result = pass.mutate(body);
  _halide_user_assert(pass.found) << "No serial loop " << request.loop << " to make a pipeline of " << request.stages
                                  << " stages";
  return simplify(GrowArrays(pass.staged, request.stages).mutate(result));
}

} // namespace hconv
