#include "random_expression.h"

#include <cstring>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv_test {

namespace {

std::string name_of(Type type, int i) {
  const char *kind = type.is_bool() ? "p" : type.is_bfloat() ? "b" : type.is_float() ? "f" : type.is_int() ? "i" : "u";
  return kind + std::to_string(type.bits()) + "_" + std::to_string(i);
}

bool is_sixteen_bit_float(Type type) {
  return type.is_float() && type.bits() == 16;
}

/** Values of a signed 32- or 64-bit variable lie between -limit and limit. */
int64_t limit_of(Type type) {
  return type.bits() == 32 ? 2000 : int64_t(1) << 34;
}

/** True where a signed result of 32 or 64 bits cannot overflow. */
bool in_range(const Expr &e) {
  if (!e.type().is_int() || e.type().bits() < 32)
    return true;
  Scope<ConstantInterval> variables;
  for (const Type type : RandomExpression::types()) {
    if (type.is_int() && type.bits() >= 32) {
      for (int i = 0; i < 2; i++)
        variables.push(name_of(type, i), ConstantInterval(-limit_of(type), limit_of(type)));
    }
  }
  const ConstantInterval range = constant_integer_bounds(e, variables, nullptr);
  const int64_t most = e.type().bits() == 32 ? INT32_MAX : INT64_MAX / 4;
  return range.is_bounded() && range.min > -most && range.max < most;
}

} // namespace

std::vector<Type> RandomExpression::types() {
  return {Int(8),   UInt(8),   Int(16),   UInt(16),  Int(32),    UInt(32), Int(64),
          UInt(64), Float(32), Float(64), Float(16), BFloat(16), Bool()};
}

std::vector<Column> RandomExpression::columns(int rows) {
  std::vector<Column> all;
  for (const Type type : types()) {
    for (int i = 0; i < 2; i++) {
      Column c{name_of(type, i), type, {}};
      for (int r = 0; r < rows; r++) {
        uint64_t bits = 0;
        const double real = (below(4001) - 2000) / 16.0;
        if (type == Float(64)) {
          std::memcpy(&bits, &real, sizeof real);
        } else if (type == Float(32)) {
          const float single = float(real);
          std::memcpy(&bits, &single, sizeof single);
        } else if (type.is_bfloat()) {
          bits = bfloat16_t(real).to_bits();
        } else if (type.is_float()) {
          bits = float16_t(real).to_bits();
        } else if (type.is_bool()) {
          bits = uint64_t(below(2));
        } else if (type.is_int() && type.bits() >= 32) {
          bits = uint64_t(below(2) ? below(21) - 10 : int64_t(random()) % limit_of(type) * (below(2) ? 1 : -1));
        } else {
          bits = below(3) ? uint64_t(random()) << 32 | random() : below(2) ? 0 : ~uint64_t(0);
        }
        if (!type.is_bool())
          bits &= UINT64_MAX >> (64 - type.bits());
        c.values.push_back(bits);
      }
      all.push_back(c);
    }
  }
  return all;
}

Expr RandomExpression::leaf(Type type) {
  if (below(3))
    return Variable::make(type, name_of(type, below(2)));
  if (type.is_bool())
    return make_bool(below(2));
  if (type.is_float())
    return FloatImm::make(type, (below(65) - 32) / 4.0);
  return make_const(type, type.is_int() ? below(201) - 100 : below(201));
}

Expr RandomExpression::converted(Type type, int depth, bool vectors) {
  const std::vector<Type> all = types();
  const Type from = all[size_t(below(int(all.size())))];
  if (from.is_float() && !type.is_float() && !type.is_bool()) {
    // In range for every integer type.
    const Expr value = Cast::make(Float(32), any(from, depth - 1, vectors));
    const Expr low = FloatImm::make(Float(32), type.is_int() ? -100.f : 0.f), high = FloatImm::make(Float(32), 100.f);
    return Cast::make(type, Max::make(Min::make(value, high), low));
  }
  if (type.is_bool() || (is_sixteen_bit_float(type) && from == Float(64)))
    return leaf(type); // refused by the printer
  return Cast::make(type, any(from, depth - 1, vectors));
}

Expr RandomExpression::boolean(int depth, bool vectors) {
  switch (below(vectors ? 3 : 4)) {
  case 0:
    return And::make(any(Bool(), depth - 1, vectors), leaf(Bool()));
  case 1:
    return Or::make(leaf(Bool()), any(Bool(), depth - 1, vectors));
  case 2: {
    Type type;
    do {
      type = types()[size_t(below(int(types().size())))];
    } while (is_sixteen_bit_float(type));
    const Expr a = any(type, depth - 1, vectors), b = any(type, depth - 1, vectors);
    switch (type.is_bool() ? below(2) : below(6)) {
    case 0:
      return EQ::make(a, b);
    case 1:
      return NE::make(a, b);
    case 2:
      return LT::make(a, b);
    case 3:
      return LE::make(a, b);
    case 4:
      return GT::make(a, b);
    default:
      return GE::make(a, b);
    }
  }
  default:
    return Not::make(any(Bool(), depth - 1, vectors));
  }
}

Expr RandomExpression::floating(Type type, int depth, bool vectors) {
  if (is_sixteen_bit_float(type))
    return converted(type, depth, vectors);
  const Expr a = any(type, depth - 1, vectors), b = any(type, depth - 1, vectors);
  switch (below(6)) {
  case 0:
    return a + b;
  case 1:
    return a - b;
  case 2:
    return a * b;
  case 3:
    return a / FloatImm::make(type, 1 << below(5)); // exact, also as the product that Halide makes of it
  case 4:
    return below(2) ? Min::make(a, b) : Max::make(a, b);
  default:
    return converted(type, depth, vectors);
  }
}

Expr RandomExpression::integer(Type type, int depth, bool vectors) {
  const Expr a = any(type, depth - 1, vectors), b = any(type, depth - 1, vectors);
  Expr e;
  switch (below(vectors ? 9 : 14)) {
  case 0:
    e = Add::make(a, b);
    break;
  case 1:
    e = Sub::make(a, b);
    break;
  case 2:
    e = Mul::make(a, b);
    break;
  case 3:
    e = below(2) ? Min::make(a, b) : Max::make(a, b);
    break;
  case 4:
    e = a & b;
    break;
  case 5:
    e = below(2) ? a | b : a ^ b;
    break;
  case 6:
    e = a >> make_const(type, below(type.bits()));
    break;
  case 7:
  case 8:
    e = converted(type, depth, vectors);
    break;
  case 9:
    e = Div::make(a, below(2) ? b : make_const(type, 1 << below(7)));
    break;
  case 10:
    e = Mod::make(a, below(2) ? b : make_const(type, 1 << below(7)));
    break;
  case 11:
    e = a << make_const(type, below(4));
    break;
  case 12:
    e = likely(a);
    break;
  default: {
    const std::string name = "t" + std::to_string(below(3));
    e = Let::make(name, a, Mul::make(Variable::make(type, name), make_const(type, 3)));
    break;
  }
  }
  return in_range(e) ? e : Min::make(a, b);
}

Expr RandomExpression::any(Type type, int depth, bool vectors) {
  if (depth <= 0 || below(6) == 0)
    return leaf(type);
  if (below(7) == 0)
    return Select::make(any(Bool(), depth - 1, vectors), any(type, depth - 1, vectors), any(type, depth - 1, vectors));
  if (type.is_bool())
    return boolean(depth, vectors);
  return type.is_float() ? floating(type, depth, vectors) : integer(type, depth, vectors);
}

namespace {

class Widen : public IRMutator {
public:
  explicit Widen(int lanes) : lanes(lanes) {}

private:
  const int lanes;
  using IRMutator::visit;

  Expr wide(const Expr &e) const { return Broadcast::make(e, lanes); }
  Expr visit(const IntImm *op) override { return wide(op); }
  Expr visit(const UIntImm *op) override { return wide(op); }
  Expr visit(const FloatImm *op) override { return wide(op); }
  Expr visit(const Variable *op) override { return Variable::make(op->type.with_lanes(lanes), op->name); }
  Expr visit(const Cast *op) override { return Cast::make(op->type.with_lanes(lanes), mutate(op->value)); }
  Expr visit(const Call *op) override {
    std::vector<Expr> args;
    for (const Expr &a : op->args)
      args.push_back(mutate(a));
    return Call::make(op->type.with_lanes(lanes), op->name, args, op->call_type);
  }
};

} // namespace

Expr widened(const Expr &e, int lanes) {
  return Widen(lanes).mutate(e);
}

} // namespace hconv_test
