#include "cuda_expression.h"

#include <cmath>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

// C++ precedence levels; larger binds tighter.
enum Precedence {
  kTernary = 1,
  kOr,
  kAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEqual,
  kLess,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kAtom
};

bool is_sixteen_bit_float(Type type) {
  return type.is_float() && type.bits() == 16;
}

} // namespace

std::string CudaExpression::text(const Expr &e, int precedence) {
  e.accept(this);
  return result_precedence < precedence ? "(" + result + ")" : result;
}

void CudaExpression::set(const std::string &text, int precedence) {
  result = text;
  result_precedence = precedence;
}

void CudaExpression::require_arithmetic(const Expr &e) const {
  _halide_user_assert(!is_sixteen_bit_float(e.type()))
      << "Arithmetic in " << e.type() << " in " << e << ": cast to float first, as the CUDA back end stores 16-bit "
      << "floats only";
}

void CudaExpression::set_integer(Type type, const std::string &text, int precedence) {
  const bool promoted = type.is_scalar() && (type.is_int() || type.is_uint()) && type.bits() < 32;
  if (promoted)
    set(cuda_type(type) + "(" + text + ")", kAtom);
  else
    set(text, precedence);
}

void CudaExpression::binary(Type type, const Expr &a, const char *op, const Expr &b, int precedence) {
  require_arithmetic(a);
  const std::string left = text(a, precedence), right = text(b, precedence + 1);
  const std::string all = left + " " + op + " " + right;
  if (precedence <= kAnd || precedence == kEqual || precedence == kLess)
    set(all, precedence);
  else
    set_integer(type, all, precedence);
}

void CudaExpression::arithmetic(const Expr &e, const Expr &a, const char *op, const Expr &b, int precedence) {
  _halide_user_assert(!e.type().is_bool()) << "Arithmetic with truth values in " << e << " has no CUDA spelling here";
  binary(e.type(), a, op, b, precedence);
}

void CudaExpression::shift(const Call *op, const char *direction, const char *either_way) {
  const Expr &count = op->args[1];
  const ConstantInterval range = constant_integer_bounds(count, bounds, nullptr);
  if (count.type().is_uint() || (range.min_defined && range.min >= 0))
    return binary(op->type, op->args[0], direction, count, kShift);
  // Halide shifts the other way by a negative count.
  _halide_user_assert(op->type.is_scalar())
      << "Vector shift by a count of either sign in " << Expr(op) << " has no CUDA spelling here";
  function(either_way, op->args);
}

void CudaExpression::function(const std::string &name, const std::vector<Expr> &args) {
  std::string call = name + "(";
  for (size_t i = 0; i < args.size(); i++)
    call += (i ? ", " : "") + text(args[i]);
  set(call + ")", kAtom);
}

void CudaExpression::visit(const IntImm *op) {
  const int bits = op->type.bits();
  // C++ has no negative literals, so the least number cannot be written as one.
  const bool least = bits >= 32 && op->value == -(int64_t(1) << (bits - 2)) * 2;
  const std::string digits = std::to_string(least ? op->value + 1 : op->value);
  if (bits == 64)
    return set("int64_t(" + digits + (least ? "ll - 1)" : "ll)"), kAtom);
  if (least)
    return set("(" + digits + " - 1)", kAtom);
  set_integer(op->type, digits, op->value < 0 ? kUnary : kAtom);
}

void CudaExpression::visit(const UIntImm *op) {
  if (op->type.is_bool())
    return set(op->value ? "true" : "false", kAtom);
  if (op->type.bits() == 64)
    return set("uint64_t(" + std::to_string(op->value) + "ull)", kAtom);
  set(op->type.bits() == 32 ? std::to_string(op->value) + "u"
                            : cuda_type(op->type) + "(" + std::to_string(op->value) + ")",
      kAtom);
}

void CudaExpression::visit(const FloatImm *op) {
  const bool negative = std::signbit(op->value) && std::isfinite(op->value) && op->type.bits() >= 32;
  set(cuda_float(op->value, op->type), negative ? kUnary : kAtom);
}

void CudaExpression::visit(const StringImm *op) {
  _halide_user_error << "The string \"" << op->value << "\" cannot be used in a CUDA kernel";
}

void CudaExpression::visit(const Cast *op) {
  const Type from = op->value.type(), to = op->type;
  if (from == to)
    return op->value.accept(this);
  _halide_user_assert(!(from.element_of() == Float(64) && is_sixteen_bit_float(to)))
      << "Cast from " << from << " to " << to << " in " << Expr(op)
      << " has no CUDA spelling here: it would round twice";
  _halide_user_assert(!to.is_bool()) << "Cast from " << from << " to a truth value in " << Expr(op)
                                     << " has no CUDA spelling here: Halide's back ends differ, compare with 0";
  const char *convert = to.lanes() > 1 ? "::convert(" : "(";
  std::string value = text(op->value);
  // The 16-bit floats convert to float and nothing else.
  if (is_sixteen_bit_float(from) && to.element_of() != Float(32))
    value = cuda_type(Float(32, to.lanes())) + convert + value + ")";
  set(cuda_type(to) + convert + value + ")", kAtom);
}

void CudaExpression::visit(const Reinterpret *op) {
  _halide_user_error << "reinterpret from " << op->value.type() << " to " << op->type << " has no CUDA spelling here";
}

void CudaExpression::visit(const Variable *op) {
  if (inlined.contains(op->name)) {
    const Inlined &value = inlined.get(op->name);
    return set(value.text, value.precedence);
  }
  set(names.of(op->name), kAtom);
}

void CudaExpression::visit(const Add *op) {
  arithmetic(op, op->a, "+", op->b, kSum);
}
void CudaExpression::visit(const Sub *op) {
  arithmetic(op, op->a, "-", op->b, kSum);
}
void CudaExpression::visit(const Mul *op) {
  arithmetic(op, op->a, "*", op->b, kProduct);
}

void CudaExpression::divide(const Expr &e, const Expr &a, const Expr &b, bool modulo) {
  if (e.type().is_float()) {
    _halide_user_assert(!modulo) << "Modulo of floats in " << e << " has no CUDA spelling here";
    return binary(e.type(), a, "/", b, kProduct);
  }
  _halide_user_assert(!e.type().is_bool()) << "Arithmetic with truth values in " << e << " has no CUDA spelling here";
  _halide_user_assert(e.type().is_scalar()) << "Vector division in " << e << " has no CUDA spelling here";
  if (const auto power = is_const_power_of_two_integer(b)) {
    const int bits = *power;
    // Shifts and masks round down, as Halide does, also for negative numbers.
    if (modulo) {
      const std::string left = text(a, kBitAnd);
      return set_integer(e.type(), left + " & " + std::to_string((uint64_t(1) << bits) - 1), kBitAnd);
    }
    const std::string left = text(a, kShift);
    return set_integer(e.type(), left + " >> " + std::to_string(bits), kShift);
  }
  const ConstantInterval numerator = constant_integer_bounds(a, bounds, nullptr);
  const auto divisor = as_const_int(b);
  const bool plain = e.type() == Int(32) && numerator.min_defined && numerator.min >= 0 && divisor && *divisor > 0;
  function(plain ? (modulo ? "hconv::mod_nonneg" : "hconv::div_nonneg")
                 : (modulo ? "hconv::floor_mod" : "hconv::floor_div"),
           {a, b});
}

void CudaExpression::visit(const Div *op) {
  divide(op, op->a, op->b, false);
}
void CudaExpression::visit(const Mod *op) {
  divide(op, op->a, op->b, true);
}

void CudaExpression::visit(const Min *op) {
  require_arithmetic(op->a);
  function("hconv::minimum", {op->a, op->b});
}

void CudaExpression::visit(const Max *op) {
  require_arithmetic(op->a);
  function("hconv::maximum", {op->a, op->b});
}

void CudaExpression::visit(const EQ *op) {
  binary(op->type, op->a, "==", op->b, kEqual);
}
void CudaExpression::visit(const NE *op) {
  binary(op->type, op->a, "!=", op->b, kEqual);
}
void CudaExpression::visit(const LT *op) {
  binary(op->type, op->a, "<", op->b, kLess);
}
void CudaExpression::visit(const LE *op) {
  binary(op->type, op->a, "<=", op->b, kLess);
}
void CudaExpression::visit(const GT *op) {
  binary(op->type, op->a, ">", op->b, kLess);
}
void CudaExpression::visit(const GE *op) {
  binary(op->type, op->a, ">=", op->b, kLess);
}
void CudaExpression::visit(const And *op) {
  binary(op->type, op->a, "&&", op->b, kAnd);
}

void CudaExpression::visit(const Or *op) {
  const std::string left = text(op->a, kAnd), right = text(op->b, kAnd);
  // && inside || keeps its parentheses: compilers warn without.
  auto wrap = [](const Expr &e, const std::string &t) { return e.as<And>() ? "(" + t + ")" : t; };
  const std::string a = wrap(op->a, left), b = wrap(op->b, right);
  set(a + " || " + b, kOr);
}

void CudaExpression::visit(const Not *op) {
  _halide_user_assert(op->type.is_scalar()) << "Vector ! in " << Expr(op) << " has no CUDA spelling here";
  const std::string value = text(op->a, kUnary);
  set("!" + value, kUnary);
}

void CudaExpression::visit(const Select *op) {
  if (op->condition.type().lanes() > 1)
    return function("hconv::select", {op->condition, op->true_value, op->false_value});
  if (const Load *load = op->true_value.as<Load>(); load && addresses_first) {
    const std::string c = text(op->condition), place = address(load->name, load->index), v = text(op->false_value);
    return set("hconv::load_if(" + c + ", " + place + ", " + v + ")", kAtom);
  }
  // Only the chosen side is evaluated, which Halide allows: a select's sides have no effects.
  const std::string c = text(op->condition, kOr), a = text(op->true_value, kOr), b = text(op->false_value, kOr);
  set(c + " ? " + a + " : " + b, kTernary);
}

std::string CudaExpression::address(const std::string &array, const Expr &index) {
  const std::string name = names.of(array);
  return is_const_zero(index) ? name : name + " + " + text(index, kSum);
}

void CudaExpression::visit(const Load *op) {
  _halide_user_assert(op->type.is_scalar())
      << "Vector load of " << op->name << " reached the printer: run vector_access first";
  _halide_user_assert(is_const_one(op->predicate)) << "Predicated load of " << op->name << " has no CUDA spelling here";
  const std::string index = text(op->index);
  set(names.of(op->name) + "[" + index + "]", kAtom);
}

void CudaExpression::visit(const Ramp *op) {
  _halide_user_assert(op->base.type().is_scalar()) << "Ramp of vectors " << Expr(op) << " has no CUDA spelling here";
  require_arithmetic(op->base);
  function(cuda_type(op->type) + "::ramp", {op->base, op->stride});
}
void CudaExpression::visit(const Broadcast *op) {
  _halide_user_assert(op->value.type().is_scalar())
      << "Broadcast of a vector " << Expr(op) << " has no CUDA spelling here";
  function(cuda_type(op->type) + "::broadcast", {op->value});
}

void CudaExpression::visit(const Call *op) {
  const std::string prelude = "hconv::";
  if (op->is_intrinsic(Call::likely) || op->is_intrinsic(Call::likely_if_innermost)) {
    op->args[0].accept(this);
  } else if (op->name == kAddressOf) {
    const Load *element = op->args[0].as<Load>();
    _halide_user_assert(element) << "address_of " << op->args[0] << ": expected a load";
    const std::string place = address(element->name, element->index);
    set(place, is_const_zero(element->index) ? kAtom : kSum);
  } else if (op->is_intrinsic(Call::if_then_else) && op->args.size() == 3) {
    Select::make(op->args[0], op->args[1], op->args[2]).accept(this);
  } else if (op->is_intrinsic(Call::shift_left)) {
    shift(op, "<<", "hconv::shift_left");
  } else if (op->is_intrinsic(Call::shift_right)) {
    shift(op, ">>", "hconv::shift_right");
  } else if (op->is_intrinsic(Call::bitwise_and)) {
    binary(op->type, op->args[0], "&", op->args[1], kBitAnd);
  } else if (op->is_intrinsic(Call::bitwise_or)) {
    binary(op->type, op->args[0], "|", op->args[1], kBitOr);
  } else if (op->is_intrinsic(Call::bitwise_not) && op->type.is_scalar() && !op->type.is_bool()) {
    const std::string value = text(op->args[0], kUnary);
    set_integer(op->type, "~" + value, kUnary);
  } else if (op->is_intrinsic(Call::bitwise_xor)) {
    binary(op->type, op->args[0], "^", op->args[1], kBitXor);
  } else if (op->is_intrinsic(Call::gpu_thread_barrier)) {
    set("__syncthreads()", kAtom);
  } else if (op->name.compare(0, prelude.size(), prelude) == 0) {
    // Calls of the prelude that give a vector take its type as template argument.
    const bool typed = op->type.lanes() > 1 && op->name.find("store") == std::string::npos;
    function(typed ? op->name + "<" + cuda_type(op->type) + ">" : op->name, op->args);
  } else {
    _halide_user_error << "Call of " << op->name << " in " << Expr(op) << " has no CUDA spelling here";
  }
}

void CudaExpression::visit(const Let *op) {
  // As text, so that the value keeps meaning what it means here, whatever the body binds.
  const std::string value = text(op->value);
  ScopedBinding<Inlined> bind(inlined, op->name, {value, result_precedence});
  const bool is_integer = op->value.type().is_scalar() && op->value.type().is_int();
  ScopedBinding<ConstantInterval> range(
      bounds, op->name, is_integer ? constant_integer_bounds(op->value, bounds, nullptr) : ConstantInterval());
  op->body.accept(this);
}

void CudaExpression::visit(const Shuffle *op) {
  _halide_user_error << "Vector shuffle " << Expr(op) << " has no CUDA spelling here";
}

void CudaExpression::visit(const VectorReduce *op) {
  _halide_user_error << "Vector reduction " << Expr(op) << " has no CUDA spelling here";
}

} // namespace hconv
