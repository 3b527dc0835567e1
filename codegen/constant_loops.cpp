#include "constant_loops.h"

#include "linear_index.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

class FindRegisterLoops : public IRVisitor {
public:
  std::set<std::string> loops;

private:
  Scope<Expr> lets;
  std::set<std::string> arrays;

  using IRVisitor::visit;

  void visit(const Allocate *op) override {
    if (op->memory_type != MemoryType::GPUShared)
      arrays.insert(op->name);
    IRVisitor::visit(op);
  }

  void visit(const Let *op) override {
    op->value.accept(this);
    ScopedBinding<Expr> bind(lets, op->name, op->value);
    op->body.accept(this);
  }

  void visit(const LetStmt *op) override {
    op->value.accept(this);
    ScopedBinding<Expr> bind(lets, op->name, op->value);
    op->body.accept(this);
  }

  void note(const std::string &array, const Expr &index) {
    if (!arrays.count(array))
      return;
    const Ramp *ramp = index.as<Ramp>();
    for (const auto &[key, term] : linear_index(ramp ? ramp->base : index, lets).terms)
      loops.insert(key);
  }

  void visit(const Load *op) override {
    note(op->name, op->index);
    IRVisitor::visit(op);
  }

  void visit(const Store *op) override {
    note(op->name, op->index);
    IRVisitor::visit(op);
  }
};

class ConstantLoops : public IRMutator {
public:
  ConstantLoops(const CudaKernel &kernel, const std::set<std::string> &loops) : loops(loops) {
    for (int axis = 0; axis < 3; axis++)
      ranges.push(kThreadIndex[axis], Interval(0, kernel.block[axis] - 1));
  }

private:
  static constexpr int64_t kLongestCopy = 32;
  const std::set<std::string> &loops;
  Scope<Interval> ranges; // of the thread indices
  std::vector<std::pair<std::string, Expr>> lets;
  std::set<std::string> shared;
  bool staging = false;

  using IRMutator::visit;

  Stmt visit(const Allocate *op) override {
    if (op->memory_type == MemoryType::GPUShared)
      shared.insert(op->name);
    return IRMutator::visit(op);
  }

  Stmt visit(const ProducerConsumer *op) override {
    ScopedValue<bool> inside(staging, op->is_producer && stores_shared(op->body));
    return IRMutator::visit(op);
  }

  bool stores_shared(const Stmt &s) const {
    class Find : public IRVisitor {
      using IRVisitor::visit;
      void visit(const Store *op) override { found |= shared.count(op->name) > 0; }

    public:
      explicit Find(const std::set<std::string> &shared) : shared(shared) {}
      const std::set<std::string> &shared;
      bool found = false;
    } find(shared);
    s.accept(&find);
    return find.found;
  }

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  Stmt visit(const For *op) override {
    Stmt body = mutate(op->body);
    Expr extent = simplify(op->extent);
    const bool required = loops.count(op->name) > 0;
    Stmt unchanged = For::make(op->name, op->min, extent, op->for_type, op->partition_policy, op->device_api, body);
    if (is_const(extent) || (!required && !(staging && !has_barrier(body))))
      return unchanged;
    Expr full = extent;
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      full = substitute(let->first, let->second, full);
    const Expr bound = find_constant_bound(simplify(full), Direction::Upper, ranges);
    const auto limit = bound.defined() ? as_const_int(bound) : std::nullopt;
    _halide_user_assert(limit || !required) << "Loop " << op->name << " indexes a register array and has the extent "
                                            << full << ", expected one with a constant bound";
    if (!required && (!limit || *limit > kLongestCopy))
      return unchanged;
    _halide_user_assert(is_const_zero(op->min)) << "Loop " << op->name << " starts at " << op->min << ", expected 0";
    Expr index = Variable::make(Int(32), op->name);
    return For::make(op->name, 0, bound, op->for_type, op->partition_policy, op->device_api,
                     IfThenElse::make(index < extent, body));
  }
};

} // namespace

bool has_barrier(const Stmt &s) {
  class Find : public IRVisitor {
    using IRVisitor::visit;
    void visit(const Call *op) override {
      found |= op->is_intrinsic(Call::gpu_thread_barrier);
      IRVisitor::visit(op);
    }

  public:
    bool found = false;
  } find;
  s.accept(&find);
  return find.found;
}

std::set<std::string> register_loops(const Stmt &body) {
  FindRegisterLoops find;
  body.accept(&find);
  return find.loops;
}

Stmt constant_loops(const CudaKernel &kernel) {
  const std::set<std::string> loops = register_loops(kernel.body);
  return ConstantLoops(kernel, loops).mutate(kernel.body);
}

} // namespace hconv
