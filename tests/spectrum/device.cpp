// The driver behind DeviceBuffer, and the launcher that generated host code calls.
#include "device.h"

#include <HalideRuntime.h>
#include <cstdlib>
#include <dlfcn.h>
#include <iostream>
#include <stdexcept>
#include <string>

namespace spectrum_test {

namespace {

using Result = int;

class Driver {
public:
  Driver() {
    const char *name = std::getenv("HCONV_CUDA_DRIVER");
    library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw std::runtime_error(dlerror());
    int device = 0;
    void *context = nullptr;
    call("cuInit", 0u);
    call("cuDeviceGet", &device, 0);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
  }

  template <typename... Args> void call(const char *name, Args... args) {
    auto function = reinterpret_cast<Result (*)(Args...)>(dlsym(library, name));
    if (!function)
      throw std::runtime_error(dlerror());
    if (const Result result = function(args...))
      throw std::runtime_error(std::string(name) + " returned " + std::to_string(result));
  }

private:
  void *library;
};

Driver &driver() {
  static Driver &driver = *new Driver; // no unloading: its own destructors may be gone first
  return driver;
}

} // namespace

bool can_run(const std::string &) {
  return true;
}

DeviceBuffer::DeviceBuffer(const void *from, size_t bytes) : bytes_(bytes) {
  driver().call("cuMemAlloc_v2", &address_, bytes);
  driver().call("cuMemcpyHtoDAsync_v2", address_, from, bytes, static_cast<void *>(nullptr));
}

DeviceBuffer::~DeviceBuffer() {
  driver().call("cuMemFree_v2", address_);
}

void DeviceBuffer::describe(halide_buffer_t &tensor) const {
  tensor.device = address_;
}

void DeviceBuffer::download(void *to) const {
  driver().call("cuMemcpyDtoHAsync_v2", to, address_, bytes_, static_cast<void *>(nullptr));
  driver().call("cuCtxSynchronize");
}

/** Launches on the default stream; the loaded kernel is kept in *state. */
void launch(void **state, const uint8_t *fatbin, const char *kernel, const int (&grid)[3], const int (&block)[3],
            int shared_bytes, int count, void **arguments, uint64_t buffers) {
  constexpr int max_dynamic_shared_size_bytes = 8;
  if (!*state) {
    void *module = nullptr;
    driver().call("cuModuleLoadData", &module, static_cast<const void *>(fatbin));
    driver().call("cuModuleGetFunction", state, module, kernel);
    driver().call("cuFuncSetAttribute", *state, max_dynamic_shared_size_bytes, shared_bytes);
  }
  void *values[64];
  for (int i = 0; i < count; i++)
    values[i] = buffers >> i & 1 ? &static_cast<halide_buffer_t *>(arguments[i])->device : arguments[i];
  driver().call("cuLaunchKernel", *state, unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2]), unsigned(block[0]),
                unsigned(block[1]), unsigned(block[2]), unsigned(shared_bytes), static_cast<void *>(nullptr),
                &values[0], static_cast<void **>(nullptr));
}

} // namespace spectrum_test

extern "C" __attribute__((visibility("default"))) int
hconv_cuda_launch(const void *, void **state, const uint8_t *fatbin, const char *kernel, int32_t grid_x, int32_t grid_y,
                  int32_t grid_z, int32_t block_x, int32_t block_y, int32_t block_z, int32_t shared_bytes,
                  int32_t count, void **arguments, uint64_t buffers) try {
  spectrum_test::launch(state, fatbin, kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                        count, arguments, buffers);
  return 0;
} catch (const std::exception &e) { // nothing may be thrown through generated code
  std::cerr << kernel << ": " << e.what() << std::endl;
  return 1;
}
