// The part of the CUDA driver API that the emulator exports: own declarations, with the real names, signatures and
// values, so that no CUDA header is needed to build it.
#pragma once

#include <cstddef>

extern "C" {

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  CUDA_ERROR_UNKNOWN = 999,
};

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = 120,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
};

enum : int { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
enum : unsigned { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum : unsigned { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };

enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

enum CUlaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[4];
  char value[64];
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

#define HCONV_EXPORTED __attribute__((visibility("default")))

HCONV_EXPORTED CUresult cuInit(unsigned flags);
HCONV_EXPORTED CUresult cuDriverGetVersion(int *version);
HCONV_EXPORTED CUresult cuGetErrorName(CUresult error, const char **text);
HCONV_EXPORTED CUresult cuGetErrorString(CUresult error, const char **text);

HCONV_EXPORTED CUresult cuDeviceGetCount(int *count);
HCONV_EXPORTED CUresult cuDeviceGet(CUdevice *device, int ordinal);
HCONV_EXPORTED CUresult cuDeviceGetName(char *name, int length, CUdevice device);
HCONV_EXPORTED CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
HCONV_EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
HCONV_EXPORTED CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);

HCONV_EXPORTED CUresult cuCtxGetCurrent(CUcontext *context);
HCONV_EXPORTED CUresult cuCtxSetCurrent(CUcontext context);
HCONV_EXPORTED CUresult cuCtxPushCurrent_v2(CUcontext context);
HCONV_EXPORTED CUresult cuCtxPopCurrent_v2(CUcontext *context);
HCONV_EXPORTED CUresult cuCtxGetDevice(CUdevice *device);
HCONV_EXPORTED CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
HCONV_EXPORTED CUresult cuCtxSynchronize(void);

HCONV_EXPORTED CUresult cuModuleLoadData(CUmodule *module, const void *image);
HCONV_EXPORTED CUresult cuModuleUnload(CUmodule module);
HCONV_EXPORTED CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
HCONV_EXPORTED CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
HCONV_EXPORTED CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function);
HCONV_EXPORTED CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                       CUstream stream, void **arguments, void **extra);
HCONV_EXPORTED CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                         void **extra);

HCONV_EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes);
HCONV_EXPORTED CUresult cuMemFree_v2(CUdeviceptr pointer);
HCONV_EXPORTED CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream);
HCONV_EXPORTED CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream);
HCONV_EXPORTED CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source, size_t bytes,
                                             CUstream stream);
HCONV_EXPORTED CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t bytes, CUstream stream);
HCONV_EXPORTED CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                                             CUstream stream);
HCONV_EXPORTED CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream);
HCONV_EXPORTED CUresult cuMemsetD32Async(CUdeviceptr destination, unsigned value, size_t count, CUstream stream);
HCONV_EXPORTED CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer);

HCONV_EXPORTED CUresult cuStreamCreate(CUstream *stream, unsigned flags);
HCONV_EXPORTED CUresult cuStreamDestroy_v2(CUstream stream);
HCONV_EXPORTED CUresult cuStreamSynchronize(CUstream stream);
HCONV_EXPORTED CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
HCONV_EXPORTED CUresult cuEventCreate(CUevent *event, unsigned flags);
HCONV_EXPORTED CUresult cuEventDestroy_v2(CUevent event);
HCONV_EXPORTED CUresult cuEventRecord(CUevent event, CUstream stream);
HCONV_EXPORTED CUresult cuEventSynchronize(CUevent event);
HCONV_EXPORTED CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
HCONV_EXPORTED CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end);

} // extern "C"
