#include "cuda/launch.h"

#include <map>
#include <mutex>
#include <utility>

#include "HalideRuntime.h"
#include "cuda/driver.h"
#include "error.h"
#include "log.h"
#include "run_context.h"

namespace hconv::runtime::cuda {
namespace {

constexpr int max_arguments = 64;
constexpr int shared_bytes_without_opt_in = 48 * 1024;

/// One loaded kernel; entries are only ever prepended, and live as long as the process (ids are never used again).
struct Entry {
  unsigned long long context_id;
  Function function;
  const Entry *next;
};

const Entry *find(void **state, unsigned long long context_id) {
  const Entry *entry = static_cast<const Entry *>(__atomic_load_n(state, __ATOMIC_ACQUIRE));
  while (entry && entry->context_id != context_id)
    entry = entry->next;
  return entry;
}

/// Modules by image and context, so that the kernels of one fatbin share a module.
struct Modules {
  std::mutex mutex;
  std::map<std::pair<const void *, unsigned long long>, Module> loaded;
};
Modules &modules() {
  static Modules &modules = *new Modules; // never destroyed, see driver()
  return modules;
}

int report(RunContext *run, Result result, const char *call, const char *kernel) {
  const char *hint = result == error_no_binary_for_gpu ? " hconv was built without code for this GPU's architecture."
                     : result == error_unsupported_ptx_version
                         ? " The driver is older than the compiler of the kernels."
                         : "";
  run->report(status_of(result), "The CUDA driver's %s failed for kernel %s: %s.%s", call, kernel,
              text_of(result).c_str(), hint);
  return halide_error_code_device_run_failed;
}

int load(RunContext *run, void **state, const uint8_t *fatbin, const char *kernel, int shared_bytes,
         const Entry **found) {
  const Driver &d = driver();
  Modules &m = modules();
  std::lock_guard<std::mutex> lock(m.mutex);
  if ((*found = find(state, run->context_id))) // another thread was faster
    return 0;
  Module &module = m.loaded[{fatbin, run->context_id}];
  if (!module) {
    if (Result r = d.module_load(&module, fatbin)) {
      module = nullptr;
      return report(run, r, "cuModuleLoadData", kernel);
    }
    log(LogLevel::debug, "loaded the module of %s in context %llu", kernel, run->context_id);
  }
  Function function = nullptr;
  if (Result r = d.module_function(&function, module, kernel))
    return report(run, r, "cuModuleGetFunction", kernel);
  if (shared_bytes > shared_bytes_without_opt_in)
    if (Result r = d.function_set(function, function_attribute_max_dynamic_shared_bytes, shared_bytes))
      return report(run, r, "cuFuncSetAttribute (dynamic shared memory)", kernel);
  const Entry *head = static_cast<const Entry *>(__atomic_load_n(state, __ATOMIC_RELAXED));
  Entry *entry = new Entry{run->context_id, function, head};
  __atomic_store_n(state, entry, __ATOMIC_RELEASE);
  *found = entry;
  return 0;
}

} // namespace
} // namespace hconv::runtime::cuda

extern "C" int hconv_cuda_launch(const void *user_context, void **state, const uint8_t *fatbin, const char *kernel_name,
                                 int32_t grid_x, int32_t grid_y, int32_t grid_z, int32_t block_x, int32_t block_y,
                                 int32_t block_z, int32_t shared_bytes, int32_t argument_count, void **arguments,
                                 uint64_t buffer_mask) try {
  using namespace hconv::runtime;
  using namespace hconv::runtime::cuda;
  RunContext *run = RunContext::from(user_context);
  if (!run || !run->context) {
    halide_error(const_cast<void *>(user_context), "a CUDA kernel was launched outside of an hconv call on CUDA");
    return halide_error_code_generic_error;
  }
  if (argument_count < 0 || argument_count > max_arguments) {
    run->report(HCONV_INTERNAL_ERROR, "Kernel %s has %d arguments; expected at most %d.", kernel_name, argument_count,
                max_arguments);
    return halide_error_code_generic_error;
  }
  const Entry *entry = find(state, run->context_id);
  if (!entry)
    if (int failed = load(run, state, fatbin, kernel_name, shared_bytes, &entry))
      return failed;
  if (run->load_only)
    return 0;

  uint64_t addresses[max_arguments];
  void *parameters[max_arguments];
  for (int i = 0; i < argument_count; ++i) {
    parameters[i] = arguments[i];
    if (buffer_mask >> i & 1) {
      addresses[i] = static_cast<const halide_buffer_t *>(arguments[i])->device;
      parameters[i] = &addresses[i];
    }
  }
  const auto count = [](int32_t extent) { return static_cast<unsigned>(extent); };
  const Result result =
      driver().launch(entry->function, count(grid_x), count(grid_y), count(grid_z), count(block_x), count(block_y),
                      count(block_z), count(shared_bytes), run->stream, parameters, nullptr);
  return result == success ? 0 : report(run, result, "cuLaunchKernel", kernel_name);
} catch (const std::bad_alloc &) { // generated code has no unwind tables: nothing may be thrown through it
  if (auto *run = hconv::runtime::RunContext::from(user_context))
    run->report(HCONV_OUT_OF_MEMORY, "The host has no memory left to load kernel %s.", kernel_name);
  return halide_error_code_out_of_memory;
}
