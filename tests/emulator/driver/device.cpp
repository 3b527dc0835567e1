// cuInit, error texts and devices.
#include "state.h"

#include <cstdio>

using namespace hconv::emulator;

namespace {

struct ErrorText {
  CUresult error;
  const char *name, *text;
};

constexpr ErrorText kErrorTexts[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image fits this device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "PTX could not be compiled"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "PTX of an unsupported version"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources asked for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the default stream depend on a capturing stream"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CUresult find_text(CUresult error, const char *ErrorText::*member, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  for (const ErrorText &entry : kErrorTexts) {
    if (entry.error == error)
      *text = entry.*member;
  }
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_device(CUdevice device) {
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  return device >= 0 && static_cast<size_t>(device) < state().devices.size() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/// The figures of one H200 where the emulator has no other to tell.
bool find_attribute(CUdevice_attribute attribute, int *value) {
  const Settings &settings = state().settings;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return *value = settings.capability_major, true;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return *value = settings.capability_minor, true;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return *value = 1024, true;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return *value = 64, true;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return *value = 2147483647, true;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return *value = 65535, true;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return *value = 48 << 10, true;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return *value = 227 << 10, true;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return *value = 228 << 10, true;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return *value = 1 << 10, true;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return *value = 65536, true;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return *value = 32, true;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return *value = 132, true;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return *value = 2048, true;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return *value = 1980000, true;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return *value = 3201000, true;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return *value = 6144, true;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return *value = 60 << 20, true;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    return *value = 1, true;
  case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    return *value = 0, true;
  }
  return false;
}

} // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
  HCONV_EMULATOR_ENTER(cuInit);
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  State &s = state();
  if (!s.initialized) {
    s.settings = settings();
    s.devices.resize(static_cast<size_t>(s.settings.devices));
  }
  if (s.devices.empty())
    return CUDA_ERROR_NO_DEVICE;
  s.initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  HCONV_EMULATOR_ENTER(cuDriverGetVersion);
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  HCONV_EMULATOR_ENTER(cuGetErrorName);
  return find_text(error, &ErrorText::name, text);
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  HCONV_EMULATOR_ENTER(cuGetErrorString);
  return find_text(error, &ErrorText::text, text);
}

CUresult cuDeviceGetCount(int *count) {
  HCONV_EMULATOR_ENTER(cuDeviceGetCount);
  if (!state().initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(state().devices.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  HCONV_EMULATOR_ENTER(cuDeviceGet);
  HCONV_EMULATOR_TRY(check_device(ordinal));
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  HCONV_EMULATOR_ENTER(cuDeviceGetName);
  HCONV_EMULATOR_TRY(check_device(device));
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<size_t>(length), "hconv emulated CUDA device");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  HCONV_EMULATOR_ENTER(cuDeviceGetAttribute);
  HCONV_EMULATOR_TRY(check_device(device));
  return value && find_attribute(attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // extern "C"
