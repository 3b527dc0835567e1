#include "machine.h"

#include <cpuid.h>
#include <cstring>

#include "cuda/driver.h"
#include "error.h"
#include "problem.h"

namespace hconv::runtime {
namespace {

std::string processor_name() {
  unsigned words[12] = {};
  unsigned highest = 0, unused;
  if (!__get_cpuid(0x80000000u, &highest, &unused, &unused, &unused) || highest < 0x80000004u)
    return "x86-64 processor";
  for (unsigned leaf = 0; leaf < 3; ++leaf)
    __get_cpuid(0x80000002u + leaf, &words[4 * leaf], &words[4 * leaf + 1], &words[4 * leaf + 2], &words[4 * leaf + 3]);
  char brand[sizeof words + 1] = {};
  std::memcpy(brand, words, sizeof words);
  std::string name(brand);
  name.erase(0, name.find_first_not_of(' ') == std::string::npos ? name.size() : name.find_first_not_of(' '));
  while (!name.empty() && name.back() == ' ')
    name.pop_back();
  return name.empty() ? "x86-64 processor" : name;
}

// The builtin for it is not known to every compiler.
bool has_f16c() {
  unsigned eax, ebx, ecx = 0, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

} // namespace

Machine machine_of(DLDevice device, int threads) {
  Machine machine;
  __builtin_cpu_init();
  machine.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  machine.avx512 = machine.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl");
  machine.threads = threads;
  if (raw(device.device_type) != kDLCUDA || device.device_id < 0)
    return machine;
  const cuda::Driver &d = cuda::driver();
  cuda::Device handle;
  if (!d.absent.empty() || device.device_id >= d.devices || d.device_get(&handle, device.device_id) != cuda::success)
    return machine;
  int value;
  if (d.device_attribute(&value, cuda::attribute_max_shared_memory_per_block_optin, handle) == cuda::success)
    machine.shared_bytes_per_block = value;
  if (d.device_attribute(&value, cuda::attribute_multiprocessor_count, handle) == cuda::success && value > 0)
    machine.multiprocessors = value;
  int major, minor;
  if (d.device_attribute(&major, cuda::attribute_capability_major, handle) == cuda::success &&
      d.device_attribute(&minor, cuda::attribute_capability_minor, handle) == cuda::success)
    machine.capability = 10 * major + minor;
  return machine;
}

hconv_status device_name(DLDevice device, std::string *name) {
  if (raw(device.device_type) == kDLCPU) {
    *name = processor_name();
    return HCONV_OK;
  }
  if (raw(device.device_type) != kDLCUDA)
    return fail(HCONV_UNSUPPORTED, "The device is %s; expected cpu (kDLCPU) or cuda (kDLCUDA).",
                text_of(device).c_str());
  if (hconv_status bad = cuda::require_device(device.device_id))
    return bad;
  const cuda::Driver &d = cuda::driver();
  cuda::Device handle;
  if (hconv_status bad = cuda::check(d.device_get(&handle, device.device_id), "cuDeviceGet"))
    return bad;
  char buffer[256] = "";
  if (hconv_status bad = cuda::check(d.device_name(buffer, sizeof buffer, handle), "cuDeviceGetName"))
    return bad;
  *name = buffer;
  return HCONV_OK;
}

} // namespace hconv::runtime
