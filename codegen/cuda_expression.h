/** Expressions of the generated CUDA; the half of cuda_printer that has no statements. */
#pragma once

#include "cuda_types.h"
#include "kernel.h"

namespace hconv {

/** Prints expressions with as few parentheses as C++ needs. Knows the bounds of integer variables, so that a division
 * of a number that cannot be negative is a plain one. */
class CudaExpression : public Halide::Internal::IRVisitor {
public:
  /** The text of e, in parentheses if it binds looser than `precedence` (as in C++: larger is tighter). */
  std::string text(const Halide::Expr &e, int precedence = 0);

  CudaNames names;
  Halide::Internal::Scope<Halide::Internal::ConstantInterval> bounds;
  bool addresses_first = false; // select(c, x[i], v) as a call that takes the address of x[i]

  /** &array[index], or array + index. */
  std::string address(const std::string &array, const Halide::Expr &index);

protected:
  using IRVisitor::visit;
  void visit(const Halide::Internal::IntImm *op) override;
  void visit(const Halide::Internal::UIntImm *op) override;
  void visit(const Halide::Internal::FloatImm *op) override;
  void visit(const Halide::Internal::StringImm *op) override;
  void visit(const Halide::Internal::Cast *op) override;
  void visit(const Halide::Internal::Reinterpret *op) override;
  void visit(const Halide::Internal::Variable *op) override;
  void visit(const Halide::Internal::Add *op) override;
  void visit(const Halide::Internal::Sub *op) override;
  void visit(const Halide::Internal::Mul *op) override;
  void visit(const Halide::Internal::Div *op) override;
  void visit(const Halide::Internal::Mod *op) override;
  void visit(const Halide::Internal::Min *op) override;
  void visit(const Halide::Internal::Max *op) override;
  void visit(const Halide::Internal::EQ *op) override;
  void visit(const Halide::Internal::NE *op) override;
  void visit(const Halide::Internal::LT *op) override;
  void visit(const Halide::Internal::LE *op) override;
  void visit(const Halide::Internal::GT *op) override;
  void visit(const Halide::Internal::GE *op) override;
  void visit(const Halide::Internal::And *op) override;
  void visit(const Halide::Internal::Or *op) override;
  void visit(const Halide::Internal::Not *op) override;
  void visit(const Halide::Internal::Select *op) override;
  void visit(const Halide::Internal::Load *op) override;
  void visit(const Halide::Internal::Ramp *op) override;
  void visit(const Halide::Internal::Broadcast *op) override;
  void visit(const Halide::Internal::Call *op) override;
  void visit(const Halide::Internal::Let *op) override;
  void visit(const Halide::Internal::Shuffle *op) override;
  void visit(const Halide::Internal::VectorReduce *op) override;

private:
  struct Inlined {
    std::string text;
    int precedence;
  };
  Halide::Internal::Scope<Inlined> inlined; // Let values, printed in place
  std::string result;
  int result_precedence = 0;

  void set(const std::string &text, int precedence);
  /** C++ computes integers of less than 32 bits in int: converted back, so that they wrap and every text has exactly
   * the C++ type of its expression. */
  void set_integer(Halide::Type type, const std::string &text, int precedence);
  void binary(Halide::Type type, const Halide::Expr &a, const char *op, const Halide::Expr &b, int precedence);
  void arithmetic(const Halide::Expr &e, const Halide::Expr &a, const char *op, const Halide::Expr &b, int precedence);
  void shift(const Halide::Internal::Call *op, const char *direction, const char *either_way);
  void function(const std::string &name, const std::vector<Halide::Expr> &args);
  void divide(const Halide::Expr &e, const Halide::Expr &a, const Halide::Expr &b, bool modulo);
  void require_arithmetic(const Halide::Expr &e) const;
};

} // namespace hconv
