#include "read_addresses.h"

#include "implied_condition.h"
#include "polynomial.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

const std::string kPlaces = "read_place";

class Rewrite : public IRMutator {
public:
  Rewrite(const PipelineNest &nest, const Lets &around) : nest(nest), lets(around) {
    for (const For *loop : nest.loops)
      loops.insert(loop->name);
  }

  std::vector<Stmt> stores; // to kPlaces
  Lets pointers;            // into the arrays, at the places

private:
  const PipelineNest &nest;
  Lets lets;
  std::set<std::string> loops;       // their variables
  std::map<std::string, int> places; // by the text of the part
  std::set<std::string> pointed;     // names of pointers

  int place_of(const Polynomial &part) {
    const auto found = places.emplace(part.text(), int(places.size()));
    if (found.second)
      stores.push_back(store(kPlaces, kept(part.wrapped()), found.first->second));
    return found.first->second;
  }

  using IRMutator::visit;

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, mutate(op->value), body);
  }

  Stmt visit(const For *op) override {
    const bool inserted = loops.insert(op->name).second;
    Stmt result = IRMutator::visit(op);
    if (inserted)
      loops.erase(op->name);
    return result;
  }

  /** What of the index threads differ in, or nothing where it cannot be told from the rest. */
  std::optional<Polynomial> part_of_threads(const Polynomial &index) const {
    Polynomial part;
    for (const auto &entry : index.terms) {
      const Polynomial::Term &term = entry.second;
      if (!term.uses_thread())
        continue;
      for (const std::string &loop : loops) {
        if (term.uses(loop))
          return std::nullopt;
      }
      part.add(term);
    }
    return part;
  }

  Expr visit(const Load *op) override {
    if (!nest.staged.count(op->name) || op->index.type() != Int(32))
      return IRMutator::visit(op);
    const Expr whole = simplify(expanded(op->index, lets));
    if (!reads_nothing(whole))
      return IRMutator::visit(op);
    Polynomial rest = polynomial(whole);
    const auto part = part_of_threads(rest);
    if (!part || part->terms.empty())
      return IRMutator::visit(op);
    rest.add(*part, -1);
    const int place = place_of(*part);
    const std::string pointer = op->name + ".place" + std::to_string(place);
    if (pointed.insert(pointer).second)
      pointers.emplace_back(pointer, address(op->type, op->name, cast<int>(load(UInt(32), kPlaces, place))));
    Expr sum = int(rest.constant());
    for (const auto &entry : rest.terms) {
      Expr product = int(entry.second.coefficient);
      for (const auto &factor : entry.second.factors) {
        for (int i = 0; i < factor.second.second; i++)
          product = factor.second.first * product;
      }
      if (!entry.second.is_constant())
        sum = product + sum;
    }
    return Load::make(op->type, pointer, sum, op->image, op->param, op->predicate, op->alignment);
  }
};

} // namespace

Stmt StagedReads::around(const Stmt &s) const {
  return kept == 0 ? s : Allocate::make(kPlaces, UInt(32), MemoryType::Register, {kept}, const_true(), s);
}

StagedReads read_addresses(const PipelineNest &nest, const Lets &around) {
  Lets lets = lets_of_threads(around);
  lets.insert(lets.end(), nest.lets.begin(), nest.lets.end());
  Rewrite rewrite(nest, lets);
  StagedReads result;
  const Stmt compute = rewrite.mutate(nest.compute);
  result.compute = with_lets(compute, rewrite.pointers);
  result.kept = int(rewrite.stores.size());
  if (result.kept > 0)
    result.first = Block::make(rewrite.stores);
  return result;
}

} // namespace hconv
