// Contexts, modules, launches, and the test hooks.
#include "emulated_device.h"

#include <cstdlib>
#include <dlfcn.h>
#include <thread>

namespace {

using emulator_test::DeviceArray;
using emulator_test::EmulatedDevice;
using emulator_test::fatbin_for;
using testing::HasSubstr;

class Driver : public EmulatedDevice {
protected:
  void TearDown() override {
    unsetenv("HCONV_EMULATOR_CAPABILITY");
    EmulatedDevice::TearDown();
  }
  void set(const char *name, const char *value) {
    setenv(name, value, 1);
    hconv_emulator_reset();
  }
  CUresult load(const std::vector<unsigned char> &image) {
    CUmodule module = nullptr;
    const CUresult result = cuModuleLoadData(&module, image.data());
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
    }
    return result;
  }
  static constexpr Shape kOneThread{{1, 1, 1}, {1, 1, 1}, 0};
};

TEST_F(Driver, ExportsEveryFunctionThatTheRuntimeLooksUp) {
  for (const char *name : {"cuInit",
                           "cuDriverGetVersion",
                           "cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetAttribute",
                           "cuDevicePrimaryCtxRetain",
                           "cuDevicePrimaryCtxRelease_v2",
                           "cuCtxGetCurrent",
                           "cuCtxSetCurrent",
                           "cuCtxPushCurrent_v2",
                           "cuCtxPopCurrent_v2",
                           "cuCtxGetDevice",
                           "cuCtxGetId",
                           "cuCtxSynchronize",
                           "cuModuleLoadData",
                           "cuModuleUnload",
                           "cuModuleGetFunction",
                           "cuFuncSetAttribute",
                           "cuFuncGetAttribute",
                           "cuLaunchKernel",
                           "cuLaunchKernelEx",
                           "cuMemAlloc_v2",
                           "cuMemFree_v2",
                           "cuMemAllocAsync",
                           "cuMemFreeAsync",
                           "cuMemcpyHtoDAsync_v2",
                           "cuMemcpyDtoHAsync_v2",
                           "cuMemcpyDtoDAsync_v2",
                           "cuMemsetD8Async",
                           "cuMemsetD32Async",
                           "cuStreamCreate",
                           "cuStreamDestroy_v2",
                           "cuStreamSynchronize",
                           "cuStreamIsCapturing",
                           "cuPointerGetAttribute",
                           "cuEventCreate",
                           "cuEventDestroy_v2",
                           "cuEventRecord",
                           "cuEventSynchronize",
                           "cuEventElapsedTime",
                           "cuEventElapsedTime_v2",
                           "cuGetErrorName",
                           "cuGetErrorString",
                           "hconv_emulator_fail_next",
                           "hconv_emulator_call_count",
                           "hconv_emulator_reset"})
    EXPECT_NE(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

TEST_F(Driver, DeviceQuestions) {
  int count = 0, version = 0, value = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_GE(version, 12080);
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  char name[8];
  EXPECT_EQ(cuDeviceGetName(name, sizeof name, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "hconv e");
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 9);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 232448);
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, ErrorNames) {
  const char *text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(Driver, ContextStackIsPerThread) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  std::thread([&] {
    CUcontext other = context_;
    EXPECT_EQ(cuCtxGetCurrent(&other), CUDA_SUCCESS);
    EXPECT_EQ(other, nullptr);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_INVALID_CONTEXT);
    CUdevice device = 5;
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPopCurrent_v2(&other), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cuCtxPopCurrent_v2(&other), CUDA_SUCCESS);
    EXPECT_EQ(other, context_);
  }).join();
  EXPECT_EQ(cuCtxPushCurrent_v2(nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Driver, PrimaryContextIsCountedAndNewOnesHaveNewIds) {
  CUcontext again = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, context_);
  unsigned long long first = 0, second = 0;
  EXPECT_EQ(cuCtxGetId(context_, &first), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(nullptr, &second), CUDA_SUCCESS) << "null is the current one";
  EXPECT_EQ(first, second);
  ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  CUdeviceptr pointer = 0;
  ASSERT_EQ(cuMemAlloc_v2(&pointer, 16), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(hconv_emulator_live_allocations(), 0u) << "memory goes with its context";
  EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetId(context_, &first), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(context_, &first), CUDA_SUCCESS);
  EXPECT_GT(first, second);
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "no_arguments"), CUDA_ERROR_INVALID_HANDLE) << "module went, too";
  const std::vector<unsigned char> image = fatbin_for(2, 90);
  ASSERT_EQ(cuModuleLoadData(&module_, image.data()), CUDA_SUCCESS);
}

TEST_F(Driver, ImagesAreChecked) {
  EXPECT_EQ(load(fatbin_for(2, 90)), CUDA_SUCCESS);
  EXPECT_EQ(load(fatbin_for(2, 90, 0x100011)), CUDA_SUCCESS) << "sm_90a on 9.0";
  EXPECT_EQ(load(fatbin_for(1, 80)), CUDA_SUCCESS) << "PTX runs on newer devices";
  EXPECT_EQ(load(fatbin_for(1, 100)), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(fatbin_for(2, 80)), CUDA_ERROR_NO_BINARY_FOR_GPU) << "machine code does not run on a newer major";
  EXPECT_EQ(load(fatbin_for(2, 120)), CUDA_ERROR_NO_BINARY_FOR_GPU);
  set("HCONV_EMULATOR_CAPABILITY", "8.6");
  EXPECT_EQ(load(fatbin_for(2, 80)), CUDA_SUCCESS) << "but on a newer minor";
  EXPECT_EQ(load(fatbin_for(2, 89)), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load(fatbin_for(2, 90, 0x100011)), CUDA_ERROR_NO_BINARY_FOR_GPU);

  std::vector<unsigned char> broken = fatbin_for(2, 80);
  broken[0] = 0;
  EXPECT_EQ(load(broken), CUDA_ERROR_INVALID_IMAGE);
  broken = fatbin_for(2, 80);
  broken[4] = 9; // version
  EXPECT_EQ(load(broken), CUDA_ERROR_INVALID_IMAGE);
  broken = fatbin_for(2, 80);
  broken[16 + 8] = 200; // an entry longer than the file says it is
  EXPECT_EQ(load(broken), CUDA_ERROR_INVALID_IMAGE);
  const char ptx[] = "// comment\n.version 8.7\n.target sm_80\n", text[] = "hello";
  EXPECT_EQ(load({ptx, ptx + sizeof ptx}), CUDA_SUCCESS);
  EXPECT_EQ(load({text, text + sizeof text}), CUDA_ERROR_INVALID_IMAGE);
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, FunctionsAreFoundByName) {
  CUfunction first = nullptr, second = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&first, module_, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleGetFunction(&first, module_, "no_arguments"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&second, module_, "no_arguments"), CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  const std::vector<unsigned char> image = fatbin_for(2, 90);
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, image.data()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&second, module, "no_arguments"), CUDA_SUCCESS);
  EXPECT_NE(first, second);
  ASSERT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(second, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, RefusedLaunchesSayWhy) {
  EXPECT_EQ(launch("no_arguments", {{1, 65536, 1}, {1, 1, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(last_message(), HasSubstr("the grid is (1,65536,1), expected"));
  EXPECT_EQ(launch("no_arguments", {{1, 1, 1}, {32, 33, 1}, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(last_message(), HasSubstr("the block is (32,33,1), expected"));
  EXPECT_EQ(launch("no_arguments", {{1, 1, 1}, {1, 1, 1}, 49153}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(last_message(), HasSubstr("49153 bytes of shared memory are asked for, expected at most the 49152"));
}

TEST_F(Driver, MissingArgumentsAreRefused) {
  const CUfunction f = function("write_at");
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr pointer = 0;
  void *arguments[] = {&pointer, nullptr};
  EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(last_message(), HasSubstr("argument 1 of 2 is missing"));
}

TEST_F(Driver, LaunchKernelExAndLastLaunch) {
  hconv_emulator_launch last;
  EXPECT_EQ(hconv_emulator_last_launch(&last), 0);
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  const CUlaunchConfig config{2, 3, 4, 32, 2, 1, 512, stream, &attribute, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function("no_arguments"), nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(hconv_emulator_last_launch(&last), 1);
  EXPECT_STREQ(last.kernel, "no_arguments");
  EXPECT_EQ(last.stream, stream);
  EXPECT_THAT(last.grid, testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(last.block, testing::ElementsAre(32, 2, 1));
  EXPECT_EQ(last.shared_bytes, 512u);
  attribute.id = static_cast<CUlaunchAttributeID>(4); // clusters
  EXPECT_EQ(cuLaunchKernelEx(&config, function("no_arguments"), nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, InjectedFailuresAndCallCounts) {
  const long before = hconv_emulator_call_count(nullptr); // the fixture's
  hconv_emulator_fail_next("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY, 1);
  hconv_emulator_fail_next("cuMemAlloc_v2", CUDA_ERROR_UNKNOWN, 2);
  CUdeviceptr pointer[4] = {};
  EXPECT_EQ(cuMemAlloc_v2(&pointer[0], 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&pointer[1], 16), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&pointer[2], 16), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(cuMemAlloc_v2(&pointer[3], 16), CUDA_SUCCESS);
  EXPECT_EQ(pointer[1], 0u) << "nothing was done";
  EXPECT_EQ(hconv_emulator_live_allocations(), 2u);
  EXPECT_EQ(hconv_emulator_call_count("cuMemAlloc"), 4);
  EXPECT_EQ(hconv_emulator_call_count("cuMemAlloc_v2"), 4);
  EXPECT_EQ(hconv_emulator_call_count("cuLaunchKernel"), 0);
  EXPECT_EQ(hconv_emulator_call_count(nullptr), before + 4);
  hconv_emulator_fail_next("cuMemFree", CUDA_ERROR_UNKNOWN, 0);
  hconv_emulator_reset();
  EXPECT_EQ(hconv_emulator_call_count(nullptr), 0);
  EXPECT_EQ(cuMemFree_v2(pointer[0]), CUDA_SUCCESS) << "reset forgets pending failures";
  EXPECT_EQ(cuMemFree_v2(pointer[3]), CUDA_SUCCESS);
}

TEST_F(Driver, LaunchesFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      for (int i = 0; i < 20; ++i) {
        const DeviceArray<float> x(std::vector<float>(640, float(t))), y(640);
        ASSERT_EQ(launch("scale_and_index", {{10, 1, 1}, {64, 1, 1}, 0}, x.pointer(), 10.0f, int64_t(640), y.pointer()),
                  CUDA_SUCCESS);
        const std::vector<float> values = y.values();
        for (size_t j = 0; j < values.size(); ++j)
          ASSERT_EQ(values[j], 10.0f * float(t) + float(j));
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
