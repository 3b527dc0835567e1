// Modules, functions and launches.
#include "image.h"
#include "state.h"

#include "../engine/launch.h"
#include "../engine/log.h"

#include <cstring>
#include <memory>

using namespace hconv::emulator;
namespace twin = hconv::twin;

namespace {

/// Argument values copied at the launch, as the driver does.
class ArgumentValues {
public:
  ArgumentValues(const Kernel &kernel, void *const *arguments) {
    for (int i = 0; i < kernel.argument_count; ++i) {
      const size_t words = (kernel.arguments[i].size + sizeof(Word) - 1) / sizeof(Word);
      storage_.push_back(std::make_unique<Word[]>(words));
      std::memcpy(storage_.back().get(), arguments[i], kernel.arguments[i].size);
      pointers_.push_back(storage_.back().get());
    }
  }
  void *const *pointers() const { return pointers_.data(); }
  uintptr_t pointer_value(int i) const {
    uintptr_t value;
    std::memcpy(&value, pointers_[static_cast<size_t>(i)], sizeof value);
    return value;
  }

private:
  using Word = std::max_align_t;
  std::vector<std::unique_ptr<Word[]>> storage_;
  std::vector<void *> pointers_;
};

/// A host pointer would work in the emulator and fault on a device. Null and stale device addresses fault when used.
std::string find_foreign_pointer(const Kernel &kernel, const ArgumentValues &values, int device) {
  for (int i = 0; i < kernel.argument_count; ++i) {
    if (!kernel.arguments[i].is_pointer || values.pointer_value(i) == 0)
      continue;
    const int owner = device_of(values.pointer_value(i));
    if (owner != device)
      return "kernel " + std::string(kernel.name) + ": argument " + std::to_string(i) + " is a pointer to " +
             (owner < 0 ? std::string("host memory") : "memory of device " + std::to_string(owner)) +
             ", expected memory of device " + std::to_string(device);
  }
  return {};
}

/// A sentence on what the driver refuses, or nothing.
std::string find_refusal(const CUfunc_st &function, twin::Index3 grid, twin::Index3 block, unsigned shared_bytes) {
  const auto what = [&](const char *name, twin::Index3 value, const char *expected) {
    return "kernel " + std::string(function.kernel->name) + ": the " + name + " is " + to_text(value) + ", expected " +
           expected;
  };
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    return what("grid", grid, "1 to (2147483647,65535,65535)");
  if (block.x == 0 || block.y == 0 || block.z == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.x * block.y * block.z > 1024)
    return what("block", block, "1 to (1024,1024,64) and at most 1024 threads");
  if (shared_bytes > static_cast<unsigned>(function.max_dynamic_shared_bytes))
    return "kernel " + std::string(function.kernel->name) + ": " + std::to_string(shared_bytes) +
           " bytes of shared memory are asked for, expected at most the " +
           std::to_string(function.max_dynamic_shared_bytes) + " that its attribute allows";
  return {};
}

CUresult refuse(const std::string &text) {
  report(text);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult run(CUcontext context, const Kernel &kernel, const ArgumentValues &values, twin::Index3 grid,
             twin::Index3 block, unsigned shared_bytes, uint64_t number) {
  const Settings &settings = state().settings;
  const LaunchShape launch{&kernel, values.pointers(), grid, block, shared_bytes, settings.copy_timing};
  if (const auto failure = run_grid(launch, settings.threads, mixed_seed(settings.seed, number)))
    return stick(context, static_cast<CUresult>(failure->code),
                 failure->text + " [HCONV_EMULATOR_SEED=" + std::to_string(settings.seed) + "]");
  const std::string damage = arena_of(context->device).find_damage();
  return damage.empty()
             ? CUDA_SUCCESS
             : stick(context, CUDA_ERROR_ILLEGAL_ADDRESS, "kernel " + std::string(kernel.name) + ": " + damage);
}

CUresult launch(CUfunction function, twin::Index3 grid, twin::Index3 block, unsigned shared_bytes, CUstream handle,
                void **arguments, void **extra) {
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  State &s = state();
  if (!s.functions.has(function) || function->module->context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (stream->context != context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (extra)
    return CUDA_ERROR_NOT_SUPPORTED;
  const std::string refusal = find_refusal(*function, grid, block, shared_bytes);
  if (!refusal.empty())
    return refuse(refusal);
  const Kernel &kernel = *function->kernel;
  for (int i = 0; i < kernel.argument_count; ++i) {
    if (!arguments || !arguments[i])
      return refuse("kernel " + std::string(kernel.name) + ": argument " + std::to_string(i) + " of " +
                    std::to_string(kernel.argument_count) + " is missing");
  }
  const auto values = std::make_shared<const ArgumentValues>(kernel, arguments);
  const uint64_t number = s.launches++;
  s.last_launch = LastLaunch{&kernel, handle, context->device, grid, block, shared_bytes};
  const std::string foreign = find_foreign_pointer(kernel, *values, context->device);
  if (!foreign.empty())
    return stick(context, CUDA_ERROR_ILLEGAL_ADDRESS, foreign);
  return submit(stream, [=, &kernel] { return run(context, kernel, *values, grid, block, shared_bytes, number); });
}

} // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  HCONV_EMULATOR_ENTER(cuModuleLoadData);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!module || !image)
    return CUDA_ERROR_INVALID_VALUE;
  State &s = state();
  HCONV_EMULATOR_TRY(check_image(image, s.settings.capability_major, s.settings.capability_minor));
  *module = s.modules.add();
  (*module)->context = context;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  HCONV_EMULATOR_ENTER(cuModuleUnload);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  State &s = state();
  if (!s.modules.has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  drain_context(module->context);
  for (CUfunction function : s.functions.all()) {
    if (function->module == module)
      s.functions.remove(function);
  }
  s.modules.remove(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  HCONV_EMULATOR_ENTER(cuModuleGetFunction);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!function || !name || *name == '\0')
    return CUDA_ERROR_INVALID_VALUE;
  State &s = state();
  if (!s.modules.has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  const Kernel *const kernel = find_kernel(name);
  if (!kernel)
    return CUDA_ERROR_NOT_FOUND;
  for (const CUfunction known : s.functions.all()) {
    if (known->module == module && known->kernel == kernel)
      return *function = known, CUDA_SUCCESS;
  }
  *function = s.functions.add();
  (*function)->module = module;
  (*function)->kernel = kernel;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  HCONV_EMULATOR_ENTER(cuFuncSetAttribute);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!state().functions.has(function))
    return CUDA_ERROR_INVALID_HANDLE;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (value < 0 || value > static_cast<int>(kMaxSharedBytes))
      return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_shared_bytes = value;
    return CUDA_SUCCESS;
  }
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    if (value < -1 || value > 100)
      return CUDA_ERROR_INVALID_VALUE;
    function->preferred_carveout = value;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  HCONV_EMULATOR_ENTER(cuFuncGetAttribute);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  if (!state().functions.has(function))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  const Settings &settings = state().settings;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return *value = 1024, CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: // kernels use dynamic shared memory only
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    return *value = 0, CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    return *value = 64, CUDA_SUCCESS; // what lets 1024 threads run; real counts are ptxas's to tell
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    return *value = 10 * settings.capability_major + settings.capability_minor, CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return *value = function->max_dynamic_shared_bytes, CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return *value = function->preferred_carveout, CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments,
                        void **extra) {
  HCONV_EMULATOR_ENTER(cuLaunchKernel);
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, arguments,
                extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra) {
  HCONV_EMULATOR_ENTER(cuLaunchKernelEx);
  if (!config || (config->numAttrs > 0 && !config->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttributeID id = config->attrs[i].id;
    // Launching early is permission, not duty: running in order obeys it.
    if (id != CU_LAUNCH_ATTRIBUTE_IGNORE && id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, config->hStream,
                arguments, extra);
}

} // extern "C"
