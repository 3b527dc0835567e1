#include "cuda_expression.h"

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
  _halide_user_assert(!(e.type().is_float() && e.type().bits() == 16))
      << "Arithmetic in " << e.type() << " in " << e << ": cast to float first, as the CUDA back end stores 16-bit "
      << "floats only";
}

void CudaExpression::binary(const Expr &a, const char *op, const Expr &b, int precedence) {
  require_arithmetic(a);
  const std::string left = text(a, precedence), right = text(b, precedence + 1);
  set(left + " " + op + " " + right, precedence);
}

void CudaExpression::function(const std::string &name, const std::vector<Expr> &args) {
  std::string call = name + "(";
  for (size_t i = 0; i < args.size(); i++)
    call += (i ? ", " : "") + text(args[i]);
  set(call + ")", kAtom);
}

void CudaExpression::visit(const IntImm *op) {
  if (op->type.bits() == 64)
    return set("int64_t(" + std::to_string(op->value) + "ll)", kAtom);
  set(std::to_string(op->value), op->value < 0 ? kUnary : kAtom);
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
  const bool negative = op->value < 0 && op->type.bits() >= 32;
  set(cuda_float(op->value, op->type), negative ? kUnary : kAtom);
}

void CudaExpression::visit(const StringImm *op) {
  _halide_user_error << "The string \"" << op->value << "\" cannot be used in a CUDA kernel";
}

void CudaExpression::visit(const Cast *op) {
  const std::string value = text(op->value);
  set(cuda_type(op->type) + (op->type.lanes() > 1 ? "::convert(" : "(") + value + ")", kAtom);
}

void CudaExpression::visit(const Reinterpret *op) {
  _halide_user_error << "reinterpret from " << op->value.type() << " to " << op->type << " has no CUDA spelling here";
}

void CudaExpression::visit(const Variable *op) {
  if (inlined.contains(op->name))
    return inlined.get(op->name).accept(this);
  set(names.of(op->name), kAtom);
}

void CudaExpression::visit(const Add *op) {
  binary(op->a, "+", op->b, kSum);
}
void CudaExpression::visit(const Sub *op) {
  binary(op->a, "-", op->b, kSum);
}
void CudaExpression::visit(const Mul *op) {
  binary(op->a, "*", op->b, kProduct);
}

void CudaExpression::divide(const Expr &e, const Expr &a, const Expr &b, bool modulo) {
  if (e.type().is_float()) {
    _halide_user_assert(!modulo) << "Modulo of floats in " << e << " has no CUDA spelling here";
    return binary(a, "/", b, kProduct);
  }
  _halide_user_assert(e.type().is_scalar()) << "Vector division in " << e << " has no CUDA spelling here";
  if (const auto power = is_const_power_of_two_integer(b)) {
    const int bits = *power;
    // Shifts and masks round down, as Halide does, also for negative numbers.
    if (modulo) {
      const std::string left = text(a, kBitAnd);
      return set(left + " & " + std::to_string((int64_t(1) << bits) - 1), kBitAnd);
    }
    const std::string left = text(a, kShift);
    return set(left + " >> " + std::to_string(bits), kShift);
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
  binary(op->a, "==", op->b, kEqual);
}
void CudaExpression::visit(const NE *op) {
  binary(op->a, "!=", op->b, kEqual);
}
void CudaExpression::visit(const LT *op) {
  binary(op->a, "<", op->b, kLess);
}
void CudaExpression::visit(const LE *op) {
  binary(op->a, "<=", op->b, kLess);
}
void CudaExpression::visit(const GT *op) {
  binary(op->a, ">", op->b, kLess);
}
void CudaExpression::visit(const GE *op) {
  binary(op->a, ">=", op->b, kLess);
}
void CudaExpression::visit(const And *op) {
  binary(op->a, "&&", op->b, kAnd);
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
  function(cuda_type(op->type) + "::ramp", {op->base, op->stride});
}
void CudaExpression::visit(const Broadcast *op) {
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
    binary(op->args[0], "<<", op->args[1], kShift);
  } else if (op->is_intrinsic(Call::shift_right)) {
    binary(op->args[0], ">>", op->args[1], kShift);
  } else if (op->is_intrinsic(Call::bitwise_and)) {
    binary(op->args[0], "&", op->args[1], kBitAnd);
  } else if (op->is_intrinsic(Call::bitwise_or)) {
    binary(op->args[0], "|", op->args[1], kBitOr);
  } else if (op->is_intrinsic(Call::bitwise_xor)) {
    binary(op->args[0], "^", op->args[1], kBitXor);
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
  ScopedBinding<Expr> bind(inlined, op->name, op->value);
  op->body.accept(this);
}

void CudaExpression::visit(const Shuffle *op) {
  _halide_user_error << "Vector shuffle " << Expr(op) << " has no CUDA spelling here";
}

void CudaExpression::visit(const VectorReduce *op) {
  _halide_user_error << "Vector reduction " << Expr(op) << " has no CUDA spelling here";
}

} // namespace hconv
