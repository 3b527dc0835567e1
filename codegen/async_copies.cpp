#include "async_copies.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

class AsyncCopies : public IRMutator {
public:
  explicit AsyncCopies(const std::map<std::string, KernelArrays::Array> &shared) : shared(shared) {}

private:
  const std::map<std::string, KernelArrays::Array> &shared;

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
    Expr value = store ? store->args[1] : Expr(), bytes = 16;
    const Select *select = store ? value.as<Select>() : nullptr;
    if (select && is_const_zero(select->false_value)) {
      const Broadcast *all = select->condition.as<Broadcast>(); // one condition for all 16 bytes
      if (!all)
        return IRMutator::visit(op);
      value = select->true_value;
      bytes = Select::make(all->value, 16, 0);
    }
    const Call *load = store ? as_call(value, "hconv::load_aligned") : nullptr;
    if (!load || load->type.bytes() * load->type.lanes() != 16)
      return IRMutator::visit(op);
    const Call *from = as_call(load->args[0], kAddressOf), *to = as_call(store->args[0], kAddressOf);
    if (!from || !to || !is_global(from->args[0]) || is_global(to->args[0]))
      return IRMutator::visit(op);
    return call_statement("hconv::cp_async16", {store->args[0], load->args[0], bytes});
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

} // namespace

Stmt async_copies(const Stmt &staging, const KernelArrays &arrays) {
  return AsyncCopies(arrays.shared).mutate(staging);
}

} // namespace hconv
