#include "lower.h"

#include "codegen/cuda_printer.h"
#include "codegen/kernel_launch.h"
#include <gtest/gtest.h>
#include <sstream>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;

namespace hconv_test {

namespace {

/** Keeps the IR and leaves nothing for Halide's own back ends. */
class Capture : public IRMutator {
public:
  explicit Capture(Stmt &kept) : kept(kept) {}
  using IRMutator::mutate;
  Stmt mutate(const Stmt &s) override {
    kept = s;
    return Evaluate::make(0);
  }

private:
  Stmt &kept;
};

class FindNests : public IRVisitor {
public:
  std::vector<const For *> nests;

private:
  using IRVisitor::visit;
  void visit(const For *op) override {
    if (is_gpu(op->for_type))
      nests.push_back(op);
    else
      IRVisitor::visit(op);
  }
};

} // namespace

Target cuda_target() {
  return Target("x86-64-linux-cuda-cuda_capability_80-user_context-no_runtime-no_bounds_query");
}

Stmt lower(const Func &func, const std::vector<Argument> &arguments) {
  Stmt kept;
  Pipeline pipeline(func);
  pipeline.add_custom_lowering_pass(new Capture(kept));
  pipeline.compile_to_module(arguments.empty() ? pipeline.infer_arguments() : arguments, "test", cuda_target());
  return kept;
}

std::vector<const For *> gpu_nests(const Stmt &host) {
  FindNests find;
  host.accept(&find);
  return find.nests;
}

CudaKernel kernel_of(const Func &func, const std::vector<Argument> &arguments, const std::string &name) {
  const Stmt host = lower(func, arguments);
  const auto nests = gpu_nests(host);
  _halide_user_assert(!nests.empty()) << "The test's pipeline has no GPU loops";
  CudaKernel kernel = extract_kernel(nests[0], name);
  kernel.body = lower_intrinsics(kernel.body);
  return kernel;
}

std::string cuda_of(const Func &func, const PipelineRequest &request, const TensorCoreRequest &tile, int sum_steps) {
  CudaBackendOptions options;
  options.pipeline = request;
  options.tensor_core = tile;
  options.sum_steps = sum_steps;
  return cuda_of(func, options);
}

std::string cuda_of(const Func &func, const CudaBackendOptions &options) {
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  CudaKernel kernel = kernel_of(func, {}, std::string(test->test_suite_name()) + "_" + test->name());
  run_passes(kernel, options);
  return print_cuda(kernel);
}

std::string describe(const CudaKernel &kernel) {
  std::ostringstream out;
  out << "kernel " << kernel.name << "\n";
  for (const KernelArgument &a : kernel.arguments)
    out << "argument " << a.name << ": " << a.type << (a.is_buffer ? a.written ? ", written buffer" : ", buffer" : "")
        << "\n";
  for (const Expr &blocks : kernel.grid)
    out << "grid " << blocks << "\n";
  out << "block " << kernel.block[0] << " " << kernel.block[1] << " " << kernel.block[2] << "\n";
  for (int axis = 0; axis < 3; axis++) {
    for (int kind = 0; kind < 2; kind++) {
      if (!kernel.index_label[kind][axis].empty())
        out << (kind ? kBlockIndex : kThreadIndex)[axis] << " is " << kernel.index_label[kind][axis] << "\n";
    }
  }
  out << "shared " << kernel.shared_bytes << "\n" << kernel.body;
  return out.str();
}

std::string to_string(const Stmt &s) {
  std::ostringstream out;
  out << s;
  return out.str();
}

std::string to_string(const Expr &e) {
  std::ostringstream out;
  out << e;
  return out.str();
}

} // namespace hconv_test
