#include "kernel_arrays.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

class FindArrays : public IRVisitor {
  using IRVisitor::visit;
  void visit(const Allocate *op) override {
    if (op->memory_type == MemoryType::GPUShared)
      arrays.shared[op->name] = {op->type, copy_size(op)};
    else if (op->type == Float(32))
      arrays.private_floats[op->name] = {op->type, op->constant_allocation_size()};
    IRVisitor::visit(op);
  }

public:
  KernelArrays arrays;
};

class FindUses : public IRVisitor {
  bool storing = false;
  using IRVisitor::visit;
  void visit(const Load *op) override {
    (storing ? uses.written : uses.read).insert(op->name);
    ScopedValue<bool> index(storing, false);
    IRVisitor::visit(op);
  }
  void visit(const Store *op) override {
    uses.written.insert(op->name);
    IRVisitor::visit(op);
  }
  void visit(const Call *op) override {
    uses.barriers |= op->is_intrinsic(Call::gpu_thread_barrier);
    const bool store = starts_with(op->name, "hconv::store_") || op->name == "hconv::scatter";
    for (size_t i = 0; i < op->args.size(); i++) {
      ScopedValue<bool> destination(storing, op->name == kAddressOf ? storing : store && i == 0);
      op->args[i].accept(this);
    }
  }

public:
  Uses uses;
};

class FindReads : public IRVisitor {
  using IRVisitor::visit;
  void visit(const Load *) override { found = true; }
  void visit(const Call *op) override {
    found |= !op->is_pure();
    IRVisitor::visit(op);
  }

public:
  bool found = false;
};

class FindSums : public IRVisitor {
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
};

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

} // namespace

KernelArrays arrays_of(const Stmt &body) {
  FindArrays find;
  body.accept(&find);
  return find.arrays;
}

int64_t copy_size(const Allocate *array) {
  const int64_t whole = 16 / array->type.bytes();
  return (array->constant_allocation_size() + whole - 1) / whole * whole;
}

Uses uses_of(const Stmt &s) {
  FindUses find;
  s.accept(&find);
  return find.uses;
}

bool reads_nothing(const Expr &e) {
  FindReads find;
  e.accept(&find);
  return !find.found;
}

std::set<std::string> arrays_added_to(const Stmt &s) {
  FindSums find;
  s.accept(&find);
  return find.names;
}

Stmt rename_arrays(const Stmt &s, const std::map<std::string, std::string> &names) {
  return RenameArrays(names).mutate(s);
}

Expr load(const Type &type, const std::string &array, const Expr &index) {
  return Load::make(type, array, index, Buffer<>(), Parameter(), const_true(index.type().lanes()), ModulusRemainder());
}

Stmt store(const std::string &array, const Expr &value, const Expr &index) {
  return Store::make(array, value, index, Parameter(), const_true(index.type().lanes()), ModulusRemainder());
}

Expr address(const Type &type, const std::string &array, const Expr &index) {
  return Call::make(Handle(), kAddressOf, {load(type, array, index)}, Call::PureExtern);
}

Stmt call_statement(const std::string &name, const std::vector<Expr> &args) {
  return Evaluate::make(Call::make(Int(32), name, args, Call::Extern));
}

Stmt barrier() {
  return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {0}, Call::Intrinsic));
}

bool is_barrier(const Stmt &s) {
  const Evaluate *e = s.as<Evaluate>();
  return e && Call::as_intrinsic(e->value, {Call::gpu_thread_barrier});
}

} // namespace hconv
