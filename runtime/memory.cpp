#include "memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "cuda/context.h"
#include "error.h"
#include "problem.h"

namespace hconv::runtime {
namespace {

constexpr size_t host_alignment = 64;

bool on_cuda(DLDevice device) {
  return raw(device.device_type) == kDLCUDA;
}

hconv_status check_device(DLDevice device, const char *name) {
  const int type = raw(device.device_type);
  if (type != kDLCPU && type != kDLCUDA)
    return fail(HCONV_UNSUPPORTED, "%s is %s; expected cpu (kDLCPU) or cuda (kDLCUDA).", name, text_of(device).c_str());
  return type == kDLCUDA ? cuda::require_device(device.device_id) : HCONV_OK;
}

/// Devices, one bit each, whose primary context hconv keeps for the rest of the process.
std::atomic<uint64_t> kept{0};

/// Runs `body` in the current context of `device`, or in its primary context.
template <class Body> hconv_status in_context(DLDevice device, Body &&body) {
  cuda::ContextRef context;
  if (hconv_status bad = cuda::acquire_context(device.device_id, &context))
    return bad;
  // Memory must outlive this call, so the primary context is kept for the rest of the process: only a first call
  // retains for good, later ones give their own reference back.
  const uint64_t bit = uint64_t{1} << (device.device_id % 64);
  if (context.retained && !(kept.fetch_or(bit) & bit))
    context.retained = false;
  hconv_status status;
  {
    cuda::ContextScope scope(context.handle);
    status = cuda::check(scope.result(), "cuCtxPushCurrent");
    if (!status)
      status = body();
  }
  cuda::release_context(&context);
  return status;
}

hconv_status host_allocate(size_t bytes, void **memory) {
  // aligned_alloc wants a multiple of the alignment; nothing is asked for as one unit, so that null means failure.
  const size_t rounded = bytes > SIZE_MAX - host_alignment
                             ? 0
                             : (std::max<size_t>(bytes, 1) + host_alignment - 1) / host_alignment * host_alignment;
  *memory = rounded ? std::aligned_alloc(host_alignment, rounded) : nullptr;
  return *memory ? HCONV_OK : fail(HCONV_OUT_OF_MEMORY, "The host has no %zu bytes of memory left.", bytes);
}

cuda::DevicePointer address(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

hconv_status allocate(DLDevice device, size_t bytes, void **memory) {
  if (!memory)
    return fail(HCONV_INVALID_ARGUMENT, "memory is null; expected the address of a pointer to fill.");
  *memory = nullptr;
  if (hconv_status bad = check_device(device, "device"))
    return bad;
  if (!on_cuda(device))
    return host_allocate(bytes, memory);
  return in_context(device, [&] {
    cuda::DevicePointer pointer = 0;
    const hconv_status status =
        cuda::check(cuda::driver().allocate(&pointer, std::max<size_t>(bytes, 1)), "cuMemAlloc");
    *memory = reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
    return status;
  });
}

hconv_status release(DLDevice device, void *memory) {
  if (!memory)
    return HCONV_OK;
  if (hconv_status bad = check_device(device, "device"))
    return bad;
  if (!on_cuda(device)) {
    std::free(memory);
    return HCONV_OK;
  }
  return in_context(device, [&] { return cuda::check(cuda::driver().free(address(memory)), "cuMemFree"); });
}

hconv_status synchronize(DLDevice device, void *stream) {
  if (hconv_status bad = check_device(device, "device"))
    return bad;
  if (!on_cuda(device))
    return HCONV_OK;
  return in_context(device, [&] {
    return cuda::check(cuda::driver().stream_synchronize(static_cast<cuda::Stream>(stream)), "cuStreamSynchronize");
  });
}

} // namespace

hconv_status copy(void *to, DLDevice to_device, const void *from, DLDevice from_device, size_t bytes, void *stream) {
  if (hconv_status bad = check_device(to_device, "to_device"))
    return bad;
  if (hconv_status bad = check_device(from_device, "from_device"))
    return bad;
  if (bytes == 0)
    return HCONV_OK;
  if (!to || !from)
    return fail(HCONV_INVALID_ARGUMENT, "%s is null; expected the address of %zu bytes.", to ? "from" : "to", bytes);
  if (!on_cuda(to_device) && !on_cuda(from_device)) {
    std::memmove(to, from, bytes);
    return HCONV_OK;
  }
  if (on_cuda(to_device) && on_cuda(from_device) && !same(to_device, from_device))
    return fail(HCONV_UNSUPPORTED, "from_device is %s and to_device is %s; expected one CUDA device.",
                text_of(from_device).c_str(), text_of(to_device).c_str());
  return in_context(on_cuda(to_device) ? to_device : from_device, [&] {
    const cuda::Driver &d = cuda::driver();
    const auto s = static_cast<cuda::Stream>(stream);
    const cuda::Result result = !on_cuda(from_device) ? d.copy_to_device(address(to), from, bytes, s)
                                : !on_cuda(to_device) ? d.copy_to_host(to, address(from), bytes, s)
                                                      : d.copy_on_device(address(to), address(from), bytes, s);
    if (hconv_status bad = cuda::check(result, "cuMemcpyAsync"))
      return bad;
    return cuda::check(d.stream_synchronize(s), "cuStreamSynchronize");
  });
}

hconv_status scratch_allocate(DLDevice device, size_t bytes, void *stream, void **memory) {
  *memory = nullptr;
  if (!on_cuda(device))
    return host_allocate(bytes, memory);
  cuda::DevicePointer pointer = 0;
  const hconv_status status =
      cuda::check(cuda::driver().allocate_async(&pointer, bytes, static_cast<cuda::Stream>(stream)), "cuMemAllocAsync");
  *memory = reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
  return status;
}

hconv_status scratch_free(DLDevice device, void *memory, void *stream) {
  if (!on_cuda(device)) {
    std::free(memory);
    return HCONV_OK;
  }
  return cuda::check(cuda::driver().free_async(address(memory), static_cast<cuda::Stream>(stream)), "cuMemFreeAsync");
}

} // namespace hconv::runtime

extern "C" {

hconv_status hconv_malloc(DLDevice device, size_t bytes, void **memory) {
  return hconv::runtime::guarded([&] { return hconv::runtime::allocate(device, bytes, memory); });
}

hconv_status hconv_free(DLDevice device, void *memory) {
  return hconv::runtime::guarded([&] { return hconv::runtime::release(device, memory); });
}

hconv_status hconv_copy(void *to, DLDevice to_device, const void *from, DLDevice from_device, size_t bytes,
                        void *stream) {
  return hconv::runtime::guarded([&] { return hconv::runtime::copy(to, to_device, from, from_device, bytes, stream); });
}

hconv_status hconv_synchronize(DLDevice device, void *stream) {
  return hconv::runtime::guarded([&] { return hconv::runtime::synchronize(device, stream); });
}
}
