#include "kernel_launch.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

const char *const kThreadIndex[3] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
const char *const kBlockIndex[3] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};

namespace {

/** Which hardware index a GPU loop's name stands for: 0 to 2, by its suffix _x, _y or _z. Halide numbers a name that it
 * meets again: "block_id_y$1". */
int axis_of(const std::string &name) {
  const size_t number = name.find('$', name.rfind('.') + 1);
  const char axis = name.substr(0, number).back();
  _halide_user_assert(axis >= 'x' && axis <= 'z') << "GPU loop " << name << " is bound to none of the axes x, y and z";
  return axis - 'x';
}

/** The schedule's name of a loop: "y.s0.oh.oh_block.batch_oh.block_id_x" -> "batch_oh". */
std::string label_of(const std::string &name) {
  const size_t suffix = name.rfind('.');
  const size_t start = suffix == 0 || suffix == std::string::npos ? std::string::npos : name.rfind('.', suffix - 1);
  return start == std::string::npos ? "" : name.substr(start + 1, suffix - start - 1);
}

class RemoveGpuLoops : public IRMutator {
public:
  explicit RemoveGpuLoops(CudaKernel &kernel) : kernel(kernel) {
    for (Expr &blocks : kernel.grid)
      blocks = 1;
  }

private:
  CudaKernel &kernel;

  using IRMutator::visit;

  /** A let between the block loops may hold what an inner loop's extent is made of; the host has no such variable. */
  Stmt visit(const LetStmt *op) override {
    Stmt body = mutate(op->body);
    for (Expr &blocks : kernel.grid)
      blocks = substitute(op->name, op->value, blocks);
    return LetStmt::make(op->name, op->value, body);
  }

  Stmt visit(const For *op) override {
    if (!is_gpu(op->for_type))
      return IRMutator::visit(op);
    _halide_user_assert(is_const_zero(op->min))
        << "GPU loop " << op->name << " starts at " << op->min << ", expected 0";
    _halide_user_assert(op->for_type != ForType::GPULane)
        << "GPU loop " << op->name << " is a gpu_lanes loop, which the CUDA back end does not support";
    const bool is_thread = op->for_type == ForType::GPUThread;
    const int axis = axis_of(op->name);
    const char *index = (is_thread ? kThreadIndex : kBlockIndex)[axis];
    if (is_thread) {
      const auto threads = as_const_int(simplify(op->extent));
      _halide_user_assert(threads) << "GPU thread loop " << op->name << " has the extent " << op->extent
                                   << ", expected a constant";
      kernel.block[axis] = int(*threads);
    } else {
      kernel.grid[axis] = op->extent;
    }
    const std::string label = label_of(op->name);
    if (!label.empty())
      kernel.index_label[is_thread ? 0 : 1][axis] = label;
    return mutate(substitute(op->name, Variable::make(Int(32), index), op->body));
  }
};

/** True where a variable of the kernel's own indices is used. */
bool uses_index(const Expr &e) {
  for (int axis = 0; axis < 3; axis++) {
    if (expr_uses_var(e, kThreadIndex[axis]) || expr_uses_var(e, kBlockIndex[axis]))
      return true;
  }
  return false;
}

// What any architecture so far gives to one block: sm_90 and sm_100, 227 KiB.
constexpr int64_t kMostSharedBytes = 227 * 1024;
constexpr int kMostThreads = 1024;
constexpr size_t kMostArguments = 64; // what make_launch has bits for

class LayoutShared : public IRMutator {
public:
  explicit LayoutShared(const CudaKernel &kernel) : kernel(kernel) {}
  int bytes = 0;

private:
  const CudaKernel &kernel;

  using IRMutator::visit;

  Stmt visit(const Allocate *op) override {
    if (op->memory_type != MemoryType::GPUShared)
      return IRMutator::visit(op);
    const int64_t size = int64_t(op->constant_allocation_size()) * op->type.bytes();
    _halide_user_assert(size > 0) << "Shared allocation " << op->name << " has no constant size";
    const auto wish = kernel.shared_alignment.find(op->name);
    const int alignment = wish == kernel.shared_alignment.end() ? 128 : wish->second;
    const int offset = (bytes + alignment - 1) / alignment * alignment;
    _halide_user_assert(offset + size <= kMostSharedBytes)
        << kernel.name << " needs " << offset + size << " bytes of shared memory, expected at most "
        << kMostSharedBytes;
    bytes = int(offset + size);
    Stmt body = mutate(op->body);
    return Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition, body, Expr(offset));
  }
};

class RemoveCopies : public IRMutator {
  using IRMutator::visit;

  // Without the copies, what the host computes or reads itself would be wrong without notice.
  Stmt visit(const For *op) override { return is_gpu(op->for_type) ? Stmt(op) : IRMutator::visit(op); }

  Stmt visit(const Store *op) override {
    _halide_user_error << op->name << " is computed on the host, expected all stages inside GPU loops";
    return op;
  }

  Expr visit(const Load *op) override {
    _halide_user_error << op->name << " is read on the host, expected all stages inside GPU loops";
    return op;
  }

  Expr visit(const Call *op) override {
    if (op->name == "halide_device_malloc" || op->name == "halide_device_and_host_malloc")
      _halide_user_error << "Buffer " << op->args[0]
                         << " would be allocated in every call, expected the pipeline's own "
                         << "buffers only: compute the stage inside the GPU loops that read it";
    if (op->name == "halide_copy_to_device" || op->name == "halide_copy_to_host")
      return make_zero(op->type);
    if (op->name == Call::buffer_set_device_dirty || op->name == Call::buffer_set_host_dirty)
      return make_zero(op->type);
    return IRMutator::visit(op);
  }
};

/** A scalar's address on the host, as a launch wants it. */
Expr address_of_scalar(const KernelArgument &argument) {
  return Call::make(type_of<void *>(), Call::make_struct, {Variable::make(argument.type, argument.name)},
                    Call::Intrinsic);
}

/** True where an expression's only calls are operations, such as shifts, which kernels can compute, too. */
bool is_arithmetic(const Expr &e) {
  class Find : public IRVisitor {
    using IRVisitor::visit;
    void visit(const Call *op) override {
      found |= !op->is_pure() || op->call_type != Call::PureIntrinsic;
      IRVisitor::visit(op);
    }

  public:
    bool found = false;
  } find;
  e.accept(&find);
  return !find.found && e.type().is_scalar() && !e.type().is_handle();
}

std::vector<DeviceArgument> arguments_of(const Stmt &nest) {
  const For *loop = nest.as<For>();
  HostClosure closure;
  closure.include(loop->body, loop->name);
  return closure.arguments();
}

/** Halide computes what does not change inside a nest outside of it: with many constants, too much for arguments. */
Stmt with_fewer_arguments(Stmt nest, const HostLets &lets) {
  if (arguments_of(nest).size() <= kMostArguments)
    return nest;
  for (auto let = lets.rbegin(); let != lets.rend(); ++let) {
    if (is_arithmetic(let->second))
      nest = substitute(let->first, let->second, nest);
  }
  return nest;
}

} // namespace

CudaKernel extract_kernel(const For *loop, const std::string &name, const HostLets &lets) {
  CudaKernel kernel;
  kernel.name = name;
  const Stmt nest = with_fewer_arguments(loop, lets);
  for (const DeviceArgument &a : arguments_of(nest))
    kernel.arguments.push_back({a.name, a.type, a.is_buffer, a.is_buffer && a.write});
  kernel.body = RemoveGpuLoops(kernel).mutate(nest);
  _halide_user_assert(kernel.threads() <= kMostThreads)
      << name << " has " << kernel.threads() << " threads a block, expected at most " << kMostThreads;
  for (const Expr &blocks : kernel.grid) {
    _halide_user_assert(!uses_index(blocks)) << "Grid extent " << blocks << " of " << name
                                             << " depends on a GPU index, expected one that the host can compute";
  }
  return kernel;
}

void layout_shared_memory(CudaKernel &kernel) {
  LayoutShared layout(kernel);
  kernel.body = layout.mutate(kernel.body);
  kernel.shared_bytes = layout.bytes;
}

Stmt make_launch(const CudaKernel &kernel, const Expr &fatbin, const Target &target) {
  // A 0-dimensional buffer stays mutable in the object: the launcher keeps the loaded function there.
  auto state = Buffer<void *>::make_scalar(kernel.name + "_state");
  state() = nullptr;
  Expr state_buffer = Variable::make(type_of<halide_buffer_t *>(), state.name() + ".buffer", Buffer<>(state));
  Expr state_address = Call::make(Handle(), Call::buffer_get_host, {state_buffer}, Call::Extern);

  std::vector<Expr> values;
  uint64_t buffer_mask = 0;
  for (const KernelArgument &a : kernel.arguments) {
    if (a.is_buffer) {
      buffer_mask |= uint64_t(1) << values.size();
      values.push_back(Variable::make(Handle(), a.name + ".buffer"));
    } else {
      values.push_back(address_of_scalar(a));
    }
  }
  _halide_user_assert(values.size() <= kMostArguments)
      << kernel.name << " takes " << values.size() << " arguments, expected at most " << kMostArguments;
  Expr user_context = target.has_feature(Target::UserContext)
                          ? Variable::make(type_of<const void *>(), "__user_context")
                          : reinterpret(Handle(), cast<uint64_t>(0));
  std::vector<Expr> args = {user_context, state_address, fatbin, Expr(kernel.name)};
  args.insert(args.end(), kernel.grid, kernel.grid + 3);
  args.insert(args.end(), kernel.block, kernel.block + 3);
  args.push_back(Expr(kernel.shared_bytes));
  args.push_back(Expr(int(values.size())));
  args.push_back(Call::make(Handle(), Call::make_struct, values, Call::Intrinsic));
  args.push_back(UIntImm::make(UInt(64), buffer_mask));
  return call_extern_and_assert("hconv_cuda_launch", args);
}

Stmt remove_device_copies(const Stmt &host) {
  return simplify(RemoveCopies().mutate(host));
}

} // namespace hconv
