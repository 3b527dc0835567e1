#include "vector_access.h"

#include <set>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

enum class Memory { Global, Shared, Register };

/** The largest power of two up to 16 that divides n; 16 for 0. */
int64_t power_of_two_divisor(int64_t n) {
  return n == 0 ? 16 : std::min<int64_t>(16, n & -n);
}

class VectorAccess : public IRMutator {
  std::map<std::string, Memory> allocated;

  using IRMutator::visit;

  Memory memory_of(const std::string &name) const {
    const auto at = allocated.find(name);
    return at == allocated.end() ? Memory::Global : at->second;
  }

  Stmt visit(const Allocate *op) override {
    allocated[op->name] = op->memory_type == MemoryType::GPUShared ? Memory::Shared : Memory::Register;
    return IRMutator::visit(op);
  }

  void check_predicate(const Expr &predicate, const std::string &name) const {
    _halide_user_assert(is_const_one(predicate))
        << "Access of " << name << " under the predicate " << predicate << ": the CUDA back end takes no predicated "
        << "vectors, give the split another TailStrategy";
  }

  /** Bytes that the address of a dense vector is a multiple of. */
  int64_t alignment_of(const std::string &name, const Parameter &param, const ModulusRemainder &index,
                       int bytes) const {
    int64_t base = bytes; // an element is aligned to itself
    if (memory_of(name) == Memory::Shared)
      base = 128;
    else if (param.defined() && param.is_buffer())
      base = param.host_alignment();
    const int64_t elements = std::min(power_of_two_divisor(index.modulus), power_of_two_divisor(index.remainder));
    return std::min(base, elements * bytes);
  }

  /** &name[index] */
  static Expr address(const std::string &name, Type type, const Expr &index, const Parameter &param) {
    Expr element = Load::make(type.element_of(), name, index, Buffer<>(), param, const_true(), ModulusRemainder());
    return Call::make(Handle(), kAddressOf, {element}, Call::PureExtern);
  }

  struct Form {
    std::string suffix;
    std::vector<Expr> place;
  };

  Form form_of(const std::string &name, Type type, const Expr &index, const Parameter &param,
               const ModulusRemainder &alignment) {
    const Ramp *ramp = index.as<Ramp>();
    if (!ramp) {
      return {"gather", {address(name, type, 0, param), index}};
    }
    _halide_user_assert(ramp->base.type().is_scalar())
        << "Access of " << name << " by a ramp of vectors " << index << " has no CUDA spelling here";
    Expr place = address(name, type, ramp->base, param);
    if (!is_const_one(ramp->stride))
      return {"strided", {place, ramp->stride}};
    if (memory_of(name) == Memory::Register)
      return {"array", {place}};
    const int64_t wanted = std::min(16, type.bytes() * type.lanes());
    return {alignment_of(name, param, alignment, type.bytes()) >= wanted ? "aligned" : "guarded", {place}};
  }

  Expr visit(const Load *op) override {
    Expr index = mutate(op->index);
    if (op->type.is_scalar())
      return Load::make(op->type, op->name, index, op->image, op->param, op->predicate, op->alignment);
    check_predicate(op->predicate, op->name);
    const Form form = form_of(op->name, op->type, index, op->param, op->alignment);
    const std::string call = form.suffix == "gather" ? "hconv::gather" : "hconv::load_" + form.suffix;
    return Call::make(op->type, call, form.place, Call::PureExtern);
  }

  Stmt visit(const Store *op) override {
    Expr value = mutate(op->value), index = mutate(op->index);
    if (value.type().is_scalar())
      return Store::make(op->name, value, index, op->param, op->predicate, op->alignment);
    check_predicate(op->predicate, op->name);
    Form form = form_of(op->name, value.type(), index, op->param, op->alignment);
    const std::string call = form.suffix == "gather" ? "hconv::scatter" : "hconv::store_" + form.suffix;
    form.place.push_back(value);
    return Evaluate::make(Call::make(Int(32), call, form.place, Call::Extern));
  }
};

} // namespace

Stmt vector_access(const Stmt &body) {
  return VectorAccess().mutate(body);
}

} // namespace hconv
