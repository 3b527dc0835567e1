// Device memory: allocation, copies, fills, and questions about pointers.
#include "state.h"

#include <cstring>
#include <memory>

using namespace hconv::emulator;

namespace {

bool is_live_range(CUdeviceptr pointer, size_t bytes) {
  const int device = device_of(pointer);
  return device >= 0 && arena_of(device).covers(pointer, bytes);
}

bool is_host_pointer(const void *pointer) {
  return pointer && device_of(reinterpret_cast<uintptr_t>(pointer)) < 0;
}

CUresult allocate(CUcontext context, CUdeviceptr *pointer, size_t bytes) {
  if (!pointer || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Settings &settings = state().settings;
  const auto begin =
      arena_of(context->device).allocate(bytes, settings.allocation_alignment, settings.device_memory, context);
  if (!begin)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = *begin;
  return CUDA_SUCCESS;
}

CUresult release(CUcontext context, CUdeviceptr pointer) {
  const int device = device_of(pointer);
  std::string damage;
  if (device < 0 || !arena_of(device).release(pointer, &damage))
    return CUDA_ERROR_INVALID_VALUE;
  return damage.empty() ? CUDA_SUCCESS : stick(context, CUDA_ERROR_ILLEGAL_ADDRESS, damage);
}

/// A copy or fill that finds its memory gone when its turn comes, as after a free on another stream.
CUresult when_still_live(CUcontext context, std::initializer_list<CUdeviceptr> pointers, size_t bytes,
                         const std::function<void()> &action) {
  for (const CUdeviceptr pointer : pointers) {
    if (!is_live_range(pointer, bytes))
      return stick(context, CUDA_ERROR_ILLEGAL_ADDRESS,
                   "a copy or fill in a stream came too late: its memory " + describe_device_address(pointer));
  }
  action();
  return CUDA_SUCCESS;
}

CUresult fill(CUdeviceptr destination, unsigned value, size_t element_bytes, size_t count, CUstream handle) {
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (count == 0)
    return CUDA_SUCCESS;
  if (destination % element_bytes != 0 || count > SIZE_MAX / element_bytes ||
      !is_live_range(destination, count * element_bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return submit(stream, [=] {
    return when_still_live(stream->context, {destination}, count * element_bytes, [=] {
      if (element_bytes == 1) {
        std::memset(reinterpret_cast<void *>(destination), static_cast<int>(value), count);
        return;
      }
      auto *const words = reinterpret_cast<unsigned *>(destination);
      for (size_t i = 0; i < count; ++i)
        words[i] = value;
    });
  });
}

} // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  HCONV_EMULATOR_ENTER(cuMemAlloc_v2);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  return allocate(context, pointer, bytes);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  HCONV_EMULATOR_ENTER(cuMemFree_v2);
  CUcontext context;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(drain_context(context)); // freeing waits for the device
  return release(context, pointer);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream handle) {
  HCONV_EMULATOR_ENTER(cuMemAllocAsync);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  return allocate(stream->context, pointer, bytes);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  HCONV_EMULATOR_ENTER(cuMemFreeAsync);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  const int device = device_of(pointer);
  const std::optional<Allocation> found = device < 0 ? std::nullopt : arena_of(device).find(pointer);
  if (!found || found->begin != pointer)
    return CUDA_ERROR_INVALID_VALUE;
  return submit(stream, [=] { return release(stream->context, pointer); });
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source, size_t bytes, CUstream handle) {
  HCONV_EMULATOR_ENTER(cuMemcpyHtoDAsync_v2);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!is_host_pointer(source) || !is_live_range(destination, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const auto copy = [destination, bytes, context = stream->context](const void *from) {
    return when_still_live(context, {destination}, bytes,
                           [=] { std::memcpy(reinterpret_cast<void *>(destination), from, bytes); });
  };
  if (!state().settings.lazy_streams)
    return submit(stream, [=] { return copy(source); });
  // All host memory is pageable here, and the driver stages such memory before it returns.
  const auto *const first = static_cast<const unsigned char *>(source);
  const auto staged = std::make_shared<const std::vector<unsigned char>>(first, first + bytes);
  return submit(stream, [=] { return copy(staged->data()); });
}

CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t bytes, CUstream handle) {
  HCONV_EMULATOR_ENTER(cuMemcpyDtoHAsync_v2);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!is_host_pointer(destination) || !is_live_range(source, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  HCONV_EMULATOR_TRY(submit(stream, [=] {
    return when_still_live(stream->context, {source}, bytes,
                           [=] { std::memcpy(destination, reinterpret_cast<const void *>(source), bytes); });
  }));
  return drain(stream); // to pageable memory, the driver returns when the copy is done
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream handle) {
  HCONV_EMULATOR_ENTER(cuMemcpyDtoDAsync_v2);
  CUcontext context;
  CUstream stream;
  HCONV_EMULATOR_TRY(current_context(&context));
  HCONV_EMULATOR_TRY(resolve_stream(handle, context, &stream));
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!is_live_range(source, bytes) || !is_live_range(destination, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  return submit(stream, [=] {
    return when_still_live(stream->context, {source, destination}, bytes, [=] {
      std::memmove(reinterpret_cast<void *>(destination), reinterpret_cast<const void *>(source), bytes);
    });
  });
}

CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream) {
  HCONV_EMULATOR_ENTER(cuMemsetD8Async);
  return fill(destination, value, 1, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned value, size_t count, CUstream stream) {
  HCONV_EMULATOR_ENTER(cuMemsetD32Async);
  return fill(destination, value, 4, count, stream);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  HCONV_EMULATOR_ENTER(cuPointerGetAttribute);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  const int device = device_of(pointer);
  const std::optional<Allocation> found = device < 0 ? std::nullopt : arena_of(device).find(pointer);
  if (!data || !found)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    *static_cast<const void **>(data) = found->owner;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *static_cast<unsigned *>(data) = CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    *static_cast<CUdeviceptr *>(data) = pointer;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    return CUDA_ERROR_INVALID_VALUE; // device memory has none
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    *static_cast<unsigned *>(data) = 0;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *static_cast<int *>(data) = device;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *static_cast<CUdeviceptr *>(data) = found->begin;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    *static_cast<size_t *>(data) = found->bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

} // extern "C"
