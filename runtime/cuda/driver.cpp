#include "cuda/driver.h"

#include <dlfcn.h>

#include "environment.h"
#include "error.h"

namespace hconv::runtime::cuda {
namespace {

using runtime::text;

template <class Pointer> bool find(void *library, const char *name, Pointer *pointer) {
  *pointer = reinterpret_cast<Pointer>(dlsym(library, name));
  return *pointer != nullptr;
}

std::string load(Driver *d) {
  const std::string &wanted = environment().cuda_driver;
  const char *file = wanted.empty() ? "libcuda.so.1" : wanted.c_str();
  d->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!d->library) {
    const char *reason = dlerror();
    return text("the CUDA driver library '%s' cannot be loaded (%s)", file, reason ? reason : "no reason given");
  }
#define HCONV_CUDA_FIND(member, name, parameters)                                                                      \
  if (!find(d->library, #name, &d->member))                                                                            \
    return text("the CUDA driver library '%s' lacks %s; it is too old", file, #name);
  HCONV_CUDA_FUNCTIONS(HCONV_CUDA_FIND)
#undef HCONV_CUDA_FIND
  if (Result r = d->init(0))
    return text("the CUDA driver '%s' does not start: cuInit gave %d%s", file, r,
                r == error_no_device ? " (CUDA_ERROR_NO_DEVICE: there is no usable device)" : "");
  if (Result r = d->device_count(&d->devices))
    return text("the CUDA driver '%s' does not count its devices: cuDeviceGetCount gave %d", file, r);
  log(LogLevel::info, "CUDA driver '%s' loaded, %d devices", file, d->devices);
  return "";
}

} // namespace

const Driver &driver() {
  // Never destroyed: the driver may be gone before static destructors run.
  static const Driver &instance = *[] {
    Driver *d = new Driver;
    d->absent = load(d);
    if (!d->absent.empty()) {
      d->devices = 0;
      log(LogLevel::info, "no CUDA: %s", d->absent.c_str());
    }
    return d;
  }();
  return instance;
}

hconv_status require_device(int ordinal) {
  const Driver &d = driver();
  if (!d.absent.empty())
    return fail(HCONV_NO_DEVICE, "CUDA was asked for (cuda:%d), but %s; expected a driver, or tensors on the CPU.",
                ordinal, d.absent.c_str());
  if (ordinal < 0 || ordinal >= d.devices)
    return fail(HCONV_NO_DEVICE,
                "The device is cuda:%d, but the driver has %d devices; expected an ordinal below that.", ordinal,
                d.devices);
  return HCONV_OK;
}

std::string text_of(Result result) {
  const char *name = nullptr, *string = nullptr;
  const Driver &d = driver();
  if (d.error_name)
    d.error_name(result, &name);
  if (d.error_string)
    d.error_string(result, &string);
  return text("%s, %d (%s)", name ? name : "unknown CUDA error", result, string ? string : "no description");
}

hconv_status status_of(Result result) {
  return result == success               ? HCONV_OK
         : result == error_out_of_memory ? HCONV_OUT_OF_MEMORY
         : result == error_no_device     ? HCONV_NO_DEVICE
                                         : HCONV_DEVICE_ERROR;
}

hconv_status check(Result result, const char *call) {
  if (result == success)
    return HCONV_OK;
  return fail(status_of(result), "The CUDA driver's %s failed: %s.", call, text_of(result).c_str());
}

} // namespace hconv::runtime::cuda
