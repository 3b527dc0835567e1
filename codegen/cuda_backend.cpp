#include "cuda_backend.h"

#include "constant_loops.h"
#include "cuda_printer.h"
#include "kernel_launch.h"
#include "nvcc.h"
#include "private_registers.h"
#include "prove_assertions.h"
#include "quad_stores.h"
#include "vector_access.h"
#include <fstream>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

void run_passes(CudaKernel &kernel, const CudaBackendOptions &options) {
  kernel.body = lower_intrinsics(kernel.body);
  kernel.body = prove_assertions(kernel.body);
  kernel.body = constant_loops(kernel);
  kernel.body = private_registers(kernel.body);
  kernel.body = vector_access(kernel.body);
  kernel.body = quad_stores(kernel.body, options.quad_stores);
  _halide_user_assert(options.tensor_core.k.empty() || kernel.block[0] == 32)
      << kernel.name << " asks for tensor cores with " << kernel.block[0]
      << " threads along x, expected 32: the lanes of one warp";
  kernel.body = tensor_core(kernel.body, options.tensor_core);
  PipelineRequest pipelined = options.pipeline;
  std::copy(kernel.block, kernel.block + 3, pipelined.block);
  if (!options.warpgroup_mma.step.empty()) {
    _halide_user_assert(kernel.block[0] == 32) << kernel.name << " asks for wgmma with " << kernel.block[0]
                                               << " threads along x, expected 32: the lanes of one warp";
    pipelined.wgmma = true;
    pipelined.one_group = options.warpgroup_mma.a_shared;
    warpgroup_mma(kernel, options.warpgroup_mma, pipelined.stages >= 2);
  }
  _halide_user_assert(options.sum_steps <= 0 || kernel.threads() == kernel.block[0])
      << kernel.name << " asks for sums in blocks with " << kernel.block[1] << " x " << kernel.block[2]
      << " threads along y and z, expected all along x";
  kernel.body =
      pipeline(kernel.body, pipelined, {options.sum_steps, kernel.threads(), kernel.min_blocks, options.sum_only_long});
  layout_shared_memory(kernel);
}

namespace {

/** private_registers makes sure that arrays can live in registers; whether they do, only ptxas knows. */
void expect_registers_only(const KernelResources &r) {
  _halide_user_assert(r.stack_bytes == 0)
      << r.kernel << " has a stack frame of " << r.stack_bytes << " bytes on sm_" << r.arch
      << " (spilled: " << r.spill_store_bytes << " bytes of stores, " << r.spill_load_bytes
      << " of loads), expected none: it lies in local memory; give a thread a smaller tile, or ask for fewer "
         "min_blocks";
}

class CudaBackend : public IRMutator {
public:
  CudaBackend(const Target &target, const CudaBackendOptions &options) : target(target), options(options) {}

  /** Halide's entry: the whole lowered pipeline. */
  Stmt mutate(const Stmt &s) override {
    if (inside)
      return IRMutator::mutate(s);
    inside = true;
    Stmt host = IRMutator::mutate(s);
    inside = false;
    _halide_user_assert(kernels > 0) << options.variant << " has no GPU loops for the CUDA back end";
    return remove_device_copies(LetStmt::make(kFatbin, embed(compile()), host));
  }
  using IRMutator::mutate;

private:
  static constexpr const char *kFatbin = "hconv_fatbin";

  const Target target;
  const CudaBackendOptions options;
  bool inside = false;
  int kernels = 0;
  std::string text = "#include \"hconv_prelude.cuh\"\n";
  std::vector<CudaKernel> printed;

  HostLets lets; // around the current statement

  using IRMutator::visit;

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  Stmt visit(const For *op) override {
    if (!is_gpu(op->for_type))
      return IRMutator::visit(op);
    CudaKernel kernel = extract_kernel(op, options.variant + "_kernel" + std::to_string(kernels++), lets);
    kernel.min_blocks = options.min_blocks;
    kernel.unroll = options.unroll;
    kernel.addresses_first = options.addresses_first;
    run_passes(kernel, options);
    text += "\n" + print_cuda(kernel);
    Stmt launch = make_launch(kernel, Variable::make(Handle(), kFatbin), target);
    printed.push_back(kernel);
    return launch;
  }

  /** Writes the CUDA text, compiles it and notes what the kernels use; returns the fatbin. */
  std::string compile() {
    const std::string base = options.out_dir + "/" + options.variant;
    std::ofstream(base + ".cu") << text;
    const NvccResult result = run_nvcc({options.nvcc, base + ".cu", split(options.prelude, ':'), options.archs});
    std::ofstream resources(base + ".resources");
    for (const KernelResources &r : result.resources) {
      for (const CudaKernel &kernel : printed) {
        if (kernel.name == r.kernel)
          resources << r.kernel << ' ' << r.arch << ' ' << r.registers << ' ' << r.spill_store_bytes << ' '
                    << r.spill_load_bytes << ' ' << kernel.shared_bytes << ' ' << kernel.threads() << '\n';
      }
    }
    for (const KernelResources &r : result.resources)
      expect_registers_only(r);
    return result.fatbin;
  }

  /** The address of constant data in the object. */
  Expr embed(const std::string &data) const {
    Buffer<uint8_t> code(int(data.size()), options.variant + "_fatbin");
    std::copy(data.begin(), data.end(), code.data());
    Expr buffer = Variable::make(type_of<halide_buffer_t *>(), code.name() + ".buffer", Buffer<>(code));
    return Call::make(Handle(), Call::buffer_get_host, {buffer}, Call::Extern);
  }
};

} // namespace

void install_cuda_backend(Pipeline &pipeline, const Target &target, const CudaBackendOptions &options) {
  pipeline.add_custom_lowering_pass(new CudaBackend(target, options));
}

} // namespace hconv
