// The part of the CUDA driver API that hconv calls, declared here so that building needs no CUDA. In a namespace, so
// that a program may include <cuda.h> beside it; numbers are those of the driver's stable binary interface.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hconv::runtime::cuda {

using Result = int;
using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;

constexpr Result success = 0;
constexpr Result error_invalid_value = 1;
constexpr Result error_out_of_memory = 2;
constexpr Result error_deinitialized = 4;
constexpr Result error_no_device = 100;
constexpr Result error_invalid_device = 101;
constexpr Result error_invalid_context = 201;
constexpr Result error_no_binary_for_gpu = 209;
constexpr Result error_unsupported_ptx_version = 222;

constexpr int attribute_multiprocessor_count = 16;
constexpr int attribute_capability_major = 75;
constexpr int attribute_capability_minor = 76;
constexpr int attribute_max_shared_memory_per_block_optin = 97;
constexpr int function_attribute_max_dynamic_shared_bytes = 8;
constexpr int capture_status_none = 0;

/// X(member, exported name, parameters)
#define HCONV_CUDA_FUNCTIONS(X)                                                                                        \
  X(init, cuInit, (unsigned flags))                                                                                    \
  X(driver_version, cuDriverGetVersion, (int *version))                                                                \
  X(device_count, cuDeviceGetCount, (int *count))                                                                      \
  X(device_get, cuDeviceGet, (Device * device, int ordinal))                                                           \
  X(device_name, cuDeviceGetName, (char *name, int length, Device device))                                             \
  X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, Device device))                                \
  X(primary_retain, cuDevicePrimaryCtxRetain, (Context * context, Device device))                                      \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (Device device))                                                    \
  X(context_current, cuCtxGetCurrent, (Context * context))                                                             \
  X(context_push, cuCtxPushCurrent_v2, (Context context))                                                              \
  X(context_pop, cuCtxPopCurrent_v2, (Context * context))                                                              \
  X(context_device, cuCtxGetDevice, (Device * device))                                                                 \
  X(context_id, cuCtxGetId, (Context context, unsigned long long *id))                                                 \
  X(context_synchronize, cuCtxSynchronize, ())                                                                         \
  X(module_load, cuModuleLoadData, (Module * module, const void *image))                                               \
  X(module_function, cuModuleGetFunction, (Function * function, Module module, const char *name))                      \
  X(function_set, cuFuncSetAttribute, (Function function, int attribute, int value))                                   \
  X(launch, cuLaunchKernel,                                                                                            \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,         \
     unsigned block_z, unsigned shared_bytes, Stream stream, void **parameters, void **extra))                         \
  X(allocate, cuMemAlloc_v2, (DevicePointer * memory, size_t bytes))                                                   \
  X(free, cuMemFree_v2, (DevicePointer memory))                                                                        \
  X(allocate_async, cuMemAllocAsync, (DevicePointer * memory, size_t bytes, Stream stream))                            \
  X(free_async, cuMemFreeAsync, (DevicePointer memory, Stream stream))                                                 \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, (DevicePointer to, const void *from, size_t bytes, Stream stream))           \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, (void *to, DevicePointer from, size_t bytes, Stream stream))                   \
  X(copy_on_device, cuMemcpyDtoDAsync_v2, (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))         \
  X(stream_synchronize, cuStreamSynchronize, (Stream stream))                                                          \
  X(stream_capturing, cuStreamIsCapturing, (Stream stream, int *status))                                               \
  X(error_name, cuGetErrorName, (Result error, const char **name))                                                     \
  X(error_string, cuGetErrorString, (Result error, const char **string))

} // namespace hconv::runtime::cuda
