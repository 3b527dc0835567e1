#include "cuda_printer.h"

#include "constant_loops.h"
#include "cuda_expression.h"
#include <sstream>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

class CudaPrinter : public CudaExpression {
public:
  explicit CudaPrinter(const CudaKernel &kernel) : kernel(kernel), unrolled(register_loops(kernel.body)) {
    addresses_first = kernel.addresses_first;
  }

  std::string print() {
    open_scope();
    std::string parameters;
    for (const KernelArgument &a : kernel.arguments) {
      const std::string name = declare(a.name);
      parameters += parameters.empty() ? "" : ", ";
      if (a.is_buffer)
        parameters += (a.written ? "" : "const ") + cuda_type(a.type) + " *__restrict__ " + name;
      else
        parameters += "const " + cuda_type(a.type) + " " + name;
    }
    indent++;
    if (kernel.shared_bytes > 0)
      line("HCONV_SHARED_MEMORY(shared);");
    for (int axis = 0; axis < 3; axis++) {
      print_index(kThreadIndex[axis], kernel.index_label[0][axis], "thread_", axis, kernel.block[axis]);
      print_index(kBlockIndex[axis], kernel.index_label[1][axis], "block_", axis, 0);
    }
    kernel.body.accept(this);
    indent--;
    return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(kernel.threads()) + ", " +
           std::to_string(kernel.min_blocks) + ")\n    " + kernel.name + "(" + parameters + ") {\n" + out.str() +
           "}\nHCONV_REGISTER_KERNEL(" + kernel.name + ")\n";
  }

private:
  const CudaKernel &kernel;
  const std::set<std::string> unrolled;
  std::ostringstream out;
  int indent = 0;
  CudaNames comments;                        // names in comments take none from the code
  std::vector<std::set<std::string>> scopes; // C++ names declared in each open brace

  using CudaExpression::visit;

  void line(const std::string &text) { out << std::string(size_t(indent) * 2, ' ') << text << "\n"; }

  void open_scope() { scopes.emplace_back(); }
  void close_scope() { scopes.pop_back(); }

  std::string declare(const std::string &name, const std::string &wish = "") {
    const std::string identifier = names.of(name, wish);
    scopes.back().insert(identifier);
    return identifier;
  }

  /** Prints what declares a name. The IR may bind one name several times, side by side or inside each other: then C++
   * wants braces around. */
  template <typename Print> void declaring(const std::string &name, const Print &print) {
    const std::string identifier = names.of(name);
    bool taken = false;
    for (const auto &scope : scopes)
      taken |= scope.count(identifier) > 0;
    if (taken)
      in_braces("", print);
    else
      print();
  }

  /** Prints in braces after a head such as "if (...)". */
  template <typename Print> void in_braces(const std::string &head, const Print &print) {
    line(head.empty() ? "{" : head + " {");
    indent++;
    open_scope();
    print();
    close_scope();
    indent--;
    line("}");
  }

  void braces(const std::string &head, const Stmt &body) {
    in_braces(head, [&] { body.accept(this); });
  }

  void print_index(const std::string &index, const std::string &label, const std::string &kind, int axis, int extent) {
    if (!stmt_uses_var(kernel.body, index))
      return;
    const std::string hardware = index; // "threadIdx.x" is its own C++ spelling
    const std::string name = declare(index, label.empty() ? kind + "xyz"[axis] : label);
    line("const int " + name + " = " + hardware + ";");
    bounds.push(index, extent > 0 ? ConstantInterval(0, extent - 1) : ConstantInterval::bounded_below(0));
  }

  void visit(const LetStmt *op) override {
    if (expr_uses_var(op->value, op->name)) {
      // let x = x + 1: in C++ the right side would be the new x already.
      const std::string fresh = unique_name(op->name + ".inner");
      const Expr variable = Variable::make(op->value.type(), fresh);
      return LetStmt::make(fresh, op->value, substitute(op->name, variable, op->body)).accept(this);
    }
    declaring(op->name, [&] { print_let(op); });
  }

  void print_let(const LetStmt *op) {
    const std::string value = text(op->value);
    const std::string name = declare(op->name);
    if (const Call *place = op->value.as<Call>(); place && place->name == kAddressOf)
      line(cuda_type(place->args[0].type()) + " *const " + name + " = " + value + ";");
    else
      line("const " + cuda_type(op->value.type()) + " " + name + " = " + value + ";");
    const bool is_integer = op->value.type().is_scalar() && op->value.type().is_int();
    ScopedBinding<ConstantInterval> bind(
        bounds, op->name, is_integer ? constant_integer_bounds(op->value, bounds, nullptr) : ConstantInterval());
    op->body.accept(this);
  }

  void visit(const ProducerConsumer *op) override {
    const std::string what = comments.of(op->name);
    line((op->is_producer ? "// produce " : "// consume ") + what);
    op->body.accept(this);
  }

  static std::string last_name(const std::string &name) { return name.substr(name.rfind('.') + 1); }

  void visit(const For *op) override {
    _halide_user_assert(op->for_type == ForType::Serial || op->for_type == ForType::Unrolled)
        << "Loop " << op->name << " of type " << op->for_type << " inside a CUDA kernel, expected a serial one";
    _halide_user_assert(!expr_uses_var(op->min, op->name) && !expr_uses_var(op->extent, op->name))
        << "Loop " << op->name << " has a bound with a variable of its own name";
    const std::string extent = text(op->extent), first = text(op->min);
    if (unrolled.count(op->name))
      line("#pragma unroll");
    else if (const auto factor = kernel.unroll.find(last_name(op->name)); factor != kernel.unroll.end())
      line("#pragma unroll " + std::to_string(factor->second));
    else if (has_barrier(op->body))
      line("#pragma unroll 1");
    const ConstantInterval count = constant_integer_bounds(op->extent, bounds, nullptr);
    const ConstantInterval start = constant_integer_bounds(op->min, bounds, nullptr);
    ConstantInterval range = start + count - 1;
    range.min = start.min;
    range.min_defined = start.min_defined;
    open_scope();
    const std::string i = declare(op->name);
    const std::string limit = is_const_zero(op->min) ? extent : text(op->min + op->extent);
    close_scope();
    ScopedBinding<ConstantInterval> bind(bounds, op->name, range);
    braces("for (int " + i + " = " + first + "; " + i + " < " + limit + "; " + i + "++)", op->body);
  }

  void visit(const Store *op) override {
    _halide_user_assert(op->value.type().is_scalar())
        << "Vector store to " << op->name << " reached the printer: run vector_access first";
    _halide_user_assert(is_const_one(op->predicate))
        << "Predicated store to " << op->name << " has no CUDA spelling here";
    const std::string index = text(op->index), value = text(op->value);
    line(names.of(op->name) + "[" + index + "] = " + value + ";");
  }

  void visit(const Allocate *op) override {
    declaring(op->name, [&] { print_allocation(op); });
  }

  void print_allocation(const Allocate *op) {
    const std::string type = cuda_type(op->type);
    const std::string name = declare(op->name);
    if (op->memory_type == MemoryType::GPUShared) {
      const auto offset = op->new_expr.defined() ? as_const_int(op->new_expr) : std::nullopt;
      _halide_user_assert(offset) << "Shared allocation " << op->name
                                  << " has no place: run layout_shared_memory first";
      line(type + " *" + name + " = reinterpret_cast<" + type + " *>(shared" +
           (*offset ? " + " + std::to_string(*offset) : "") + "); // " +
           std::to_string(op->constant_allocation_size()) + " elements");
    } else {
      _halide_user_assert(op->constant_allocation_size() > 0) << "Array " << op->name << " has no constant size";
      line(type + " " + name + "[" + std::to_string(op->constant_allocation_size()) + "];");
    }
    op->body.accept(this);
  }

  void visit(const Free *) override {} // both kinds of memory end with the kernel

  void visit(const Block *op) override {
    op->first.accept(this);
    op->rest.accept(this);
  }

  void visit(const IfThenElse *op) override {
    braces("if (" + text(op->condition) + ")", op->then_case);
    if (op->else_case.defined())
      braces("else", op->else_case);
  }

  void visit(const Evaluate *op) override {
    if (!is_pure(op->value) || op->value.as<Call>())
      line(text(op->value) + ";");
  }

  void refuse(const char *what, const std::string &name) {
    _halide_user_error << what << " " << name << " inside a CUDA kernel has no CUDA spelling here";
  }

  void visit(const AssertStmt *op) override {
    std::ostringstream condition;
    condition << op->condition;
    refuse("Assertion", condition.str());
  }
  void visit(const Acquire *) override { refuse("Acquire", ""); }
  void visit(const Provide *op) override { refuse("Provide", op->name); }
  void visit(const Realize *op) override { refuse("Realize", op->name); }
  void visit(const Fork *) override { refuse("Fork", ""); }
  void visit(const Prefetch *op) override { refuse("Prefetch", op->name); }
  void visit(const Atomic *op) override { refuse("Atomic", op->producer_name); }
  void visit(const HoistedStorage *op) override { refuse("HoistedStorage", op->name); }
};

} // namespace

std::string print_cuda(const CudaKernel &kernel) {
  return CudaPrinter(kernel).print();
}

} // namespace hconv
