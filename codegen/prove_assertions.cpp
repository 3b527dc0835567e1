#include "prove_assertions.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

class ProveAssertions : public IRMutator {
  std::vector<std::pair<std::string, Expr>> lets;

  using IRMutator::visit;

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  Stmt visit(const AssertStmt *op) override {
    Expr condition = op->condition;
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      condition = substitute(let->first, let->second, condition);
    _halide_user_assert(can_prove(condition))
        << "Assertion " << op->condition << " inside a CUDA kernel cannot be proved; in full it is " << condition;
    return Evaluate::make(0);
  }
};

} // namespace

Stmt prove_assertions(const Stmt &body) {
  return simplify(ProveAssertions().mutate(body));
}

} // namespace hconv
