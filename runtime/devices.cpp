#include "cuda/driver.h"
#include "describe.h"
#include "environment.h"
#include "error.h"
#include "machine.h"

namespace hconv::runtime {
namespace {

hconv_status default_device(DLDevice *device) {
  if (!device)
    return fail(HCONV_INVALID_ARGUMENT, "device is null; expected the address of a DLDevice to fill.");
  const std::string &wanted = environment().device;
  if (!wanted.empty() && wanted != "cpu" && wanted != "cuda")
    return fail(HCONV_INVALID_ARGUMENT, "HCONV_DEVICE is '%s'; expected 'cpu' or 'cuda'.", wanted.c_str());
  if (wanted == "cuda")
    if (hconv_status bad = cuda::require_device(0))
      return bad;
  const bool cuda = wanted == "cuda" || (wanted.empty() && cuda::driver().devices > 0);
  *device = {cuda ? kDLCUDA : kDLCPU, 0};
  return HCONV_OK;
}

} // namespace
} // namespace hconv::runtime

using namespace hconv::runtime;

extern "C" {

int hconv_cuda_device_count(void) {
  int count = 0;
  guarded([&] {
    count = cuda::driver().devices;
    return HCONV_OK;
  });
  return count;
}

hconv_status hconv_default_device(DLDevice *device) {
  return guarded([&] { return default_device(device); });
}

hconv_status hconv_device_name(DLDevice device, char *text, size_t *size) {
  return guarded([&] {
    std::string name;
    if (hconv_status bad = device_name(device, &name))
      return bad;
    return deliver(name, text, size);
  });
}
}
