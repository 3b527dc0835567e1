#include "stock_shared.h"

#include <map>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kSystemBytes = 1024;

class MoveShared : public IRMutator {
  std::map<std::string, int> moved; // by how many elements, by array

  using IRMutator::visit;

  Stmt visit(const Allocate *op) override {
    if (op->memory_type != MemoryType::GPUShared)
      return IRMutator::visit(op);
    const int elements = kSystemBytes / op->type.bytes();
    moved[op->name] = elements;
    Expr size = elements;
    if (!op->extents.empty()) {
      Expr product = op->extents[0];
      for (size_t i = 1; i < op->extents.size(); i++)
        product *= op->extents[i];
      size += product;
    }
    return Allocate::make(op->name, op->type, op->memory_type, {simplify(size)}, mutate(op->condition),
                          mutate(op->body), op->new_expr, op->free_function);
  }

  Expr place(const std::string &array, const Expr &index) {
    const auto at = moved.find(array);
    return at == moved.end() ? index : simplify(index + make_const(index.type(), at->second));
  }

  // kSystemBytes is a multiple of every vector's size, so alignments hold.
  Expr visit(const Load *op) override {
    return Load::make(op->type, op->name, place(op->name, mutate(op->index)), op->image, op->param,
                      mutate(op->predicate), op->alignment);
  }

  Stmt visit(const Store *op) override {
    return Store::make(op->name, mutate(op->value), place(op->name, mutate(op->index)), op->param,
                       mutate(op->predicate), op->alignment);
  }
};

} // namespace

Stmt stock_shared(const Stmt &host) {
  return MoveShared().mutate(host);
}

void install_stock_shared(Pipeline &pipeline) {
  pipeline.add_custom_lowering_pass(new MoveShared);
}

} // namespace hconv
