/** cuda_backend: the passes together, in a pipeline that is compiled to an object file. */
#include "codegen/cuda_backend.h"

#include "support/child.h"
#include "support/golden.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include "support/process.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace hconv;
using namespace hconv_test;

namespace {

/** Stands in for nvcc where only the rest matters. */
const char *const kCompiler = R"(#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then printf 'the image of the kernels' >"$2"; fi
  shift
done
echo "ptxas info    : Compiling entry function 'twice_kernel0' for 'sm_90a'"
echo "ptxas info    : Function properties for twice_kernel0"
echo "    ${FRAME:-0} bytes stack frame, 4 bytes spill stores, 8 bytes spill loads"
echo "ptxas info    : Used 17 registers, used 0 barriers"
)";

class CudaBackend : public testing::Test {
protected:
  Folder folder;
  CudaBackendOptions options;

  void SetUp() override {
    write_file(folder.path("nvcc"), kCompiler);
    std::filesystem::permissions(folder.path("nvcc"), std::filesystem::perms::owner_all);
    options.variant = "twice";
    options.out_dir = folder.path();
    options.nvcc = folder.path("nvcc");
    options.archs = "90a";
    options.prelude = HCONV_PRELUDE;
    options.min_blocks = 2;
  }

  /** Compiles a pipeline to twice.o with the back end. */
  void compile(const std::function<Func()> &make) {
    Pipeline pipeline(make());
    install_cuda_backend(pipeline, cuda_target(), options);
    pipeline.compile_to_object(folder.path("twice.o"), pipeline.infer_arguments(), "twice", cuda_target());
  }
};

TEST_F(CudaBackend, WritesSourceResourcesAndObject) {
  text_of([&] {
    compile(scaled);
    return "";
  });
  EXPECT_EQ(read_file(folder.path("twice.resources")), "twice_kernel0 90a 17 4 8 0 64\n");
  expect_golden(read_file(folder.path("twice.cu")), "cu");
  const std::string object = read_file(folder.path("twice.o"));
  EXPECT_NE(object.find("the image of the kernels"), std::string::npos);
  EXPECT_NE(object.find("hconv_cuda_launch"), std::string::npos);
}

// The launch is ours alone: nothing of Halide's CUDA runtime is asked for, and no copy is made.
TEST_F(CudaBackend, TheObjectNeedsNothingOfHalidesDeviceRuntime) {
  text_of([&] {
    compile(scaled);
    return "";
  });
  const std::string object = read_file(folder.path("twice.o"));
  for (const char *name :
       {"halide_cuda_run", "halide_cuda_initialize_kernels", "halide_cuda_device_interface", "halide_copy_to_device",
        "halide_copy_to_host", "halide_device_malloc", "halide_device_and_host_malloc"})
    EXPECT_EQ(object.find(name), std::string::npos) << name;
}

// Local memory shows as a stack frame, with or without spills.
TEST_F(CudaBackend, RefusesAStackFrame) {
  const std::string error = refusal_of([&] {
    setenv("FRAME", "40", 1); // in a child
    compile(scaled);
    return "";
  });
  EXPECT_NE(
      error.find("twice_kernel0 has a stack frame of 40 bytes on sm_90a (spilled: 4 bytes of stores, 8 of loads), "
                 "expected none"),
      std::string::npos)
      << error;
}

TEST_F(CudaBackend, RefusesAPipelineWithoutGpuLoops) {
  const std::string error = refusal_of([&] {
    compile([] {
      Func y("y");
      Var i("i");
      y(i) = i;
      return y;
    });
    return "";
  });
  EXPECT_NE(error.find("twice has no GPU loops for the CUDA back end"), std::string::npos) << error;
}

TEST_F(CudaBackend, NumbersTheKernelsOfAPipeline) {
  text_of([&] {
    compile([] {
      Func y("y");
      Var i("i"), b("b"), t("t");
      y(i) = i;
      y(i) += 2;
      y.gpu_tile(i, b, t, 32, TailStrategy::GuardWithIf);
      y.update().gpu_tile(i, b, t, 64, TailStrategy::GuardWithIf);
      return y;
    });
    return "";
  });
  const std::string text = read_file(folder.path("twice.cu"));
  EXPECT_NE(text.find("__launch_bounds__(32, 2)\n    twice_kernel0("), std::string::npos) << text;
  EXPECT_NE(text.find("__launch_bounds__(64, 2)\n    twice_kernel1("), std::string::npos) << text;
}

TEST_F(CudaBackend, SumsInBlocksOfTheRequestedSteps) {
  options.pipeline = {"chunk", 2};
  auto text = [&](int sum_steps) {
    options.sum_steps = sum_steps;
    text_of([&] {
      compile([] { return mma_matmul(BFloat(16), 1); });
      return "";
    });
    return read_file(folder.path("twice.cu"));
  };
  EXPECT_NE(text(2).find("float *totals = "), std::string::npos) << text(2);
  EXPECT_NE(text(2).find("if ((step + 1 & 1) == 0)"), std::string::npos) << text(2);
  EXPECT_EQ(text(0).find("totals"), std::string::npos) << text(0);
}

TEST_F(CudaBackend, NamesAFolderThatItCannotWriteTo) {
  options.out_dir = folder.path("no such folder");
  const std::string error = refusal_of([&] {
    compile(scaled);
    return "";
  });
  EXPECT_NE(error.find("no such folder/twice.cu"), std::string::npos) << error;
}

// Halide's checks on the host stay: sizes and strides are tested before anything is launched.
TEST_F(CudaBackend, KeepsHalidesChecksOnTheHost) {
  text_of([&] {
    compile(scaled);
    return "";
  });
  const std::string object = read_file(folder.path("twice.o"));
  for (const char *name : {"halide_error_bad_type", "halide_error_constraint_violated",
                           "halide_error_access_out_of_bounds", "halide_error_buffer_argument_is_null"})
    EXPECT_NE(object.find(name), std::string::npos) << name;
}

} // namespace
