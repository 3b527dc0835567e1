// hconv_malloc and so on, and the scratch memory of the one-call form, on the fake driver.
#include "cuda_fixture.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;

class CudaMemory : public CudaTest {};

TEST_F(CudaMemory, RoundTrip) {
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(hconv_malloc(cuda0, 400, &a), HCONV_OK) << hconv_last_error();
  ASSERT_EQ(hconv_malloc(cuda0, 400, &b), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 256, 0u);
  Tensor from({100}), to({100});
  from.fill(1);
  int stream;
  ASSERT_EQ(hconv_copy(a, cuda0, from.floats(), cpu, 400, &stream), HCONV_OK) << hconv_last_error();
  ASSERT_EQ(hconv_copy(b, cuda0, a, cuda0, 400, &stream), HCONV_OK) << hconv_last_error();
  ASSERT_EQ(hconv_copy(to.floats(), cpu, b, cuda0, 400, &stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(std::memcmp(from.floats(), to.floats(), 400), 0);
  EXPECT_EQ(calls("cuStreamSynchronize"), 3) << "copies return when they are done";
  EXPECT_EQ(hconv_synchronize(cuda0, &stream), HCONV_OK);
  EXPECT_EQ(hconv_free(cuda0, a), HCONV_OK);
  EXPECT_EQ(hconv_free(cuda0, b), HCONV_OK);
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
  EXPECT_EQ(fake_cuda_current(), nullptr);
}

TEST_F(CudaMemory, ThePrimaryContextIsKeptForMemoryThatOutlivesTheCall) {
  void *memory = nullptr;
  ASSERT_EQ(hconv_malloc(cuda1, 16, &memory), HCONV_OK);
  const int references = fake_cuda_primary_references(1);
  EXPECT_GE(references, 1);
  EXPECT_EQ(hconv_synchronize(cuda1, nullptr), HCONV_OK);
  EXPECT_EQ(hconv_free(cuda1, memory), HCONV_OK);
  EXPECT_EQ(fake_cuda_primary_references(1), references) << "each call gives its own reference back";
}

TEST_F(CudaMemory, NotFromOneDeviceToAnother) {
  char bytes[8];
  EXPECT_EQ(hconv_copy(bytes, cuda1, bytes + 4, cuda0, 4, nullptr), HCONV_UNSUPPORTED);
  EXPECT_STREQ(hconv_last_error(), "from_device is cuda:0 and to_device is cuda:1; expected one CUDA device.");
}

TEST_F(CudaMemory, OutOfMemory) {
  void *memory = &memory;
  fake_cuda_fail("cuMemAlloc_v2", 2, 1);
  EXPECT_EQ(hconv_malloc(cuda0, 16, &memory), HCONV_OUT_OF_MEMORY);
  EXPECT_THAT(hconv_last_error(), HasSubstr("cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(memory, nullptr);
  Case c(small_problem(cuda0));
  fake_cuda_fail("cuMemAllocAsync", 2, 1);
  EXPECT_EQ(convolve(c), HCONV_OUT_OF_MEMORY);
  ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(c.found(), c.expected(true));
}

TEST_F(CudaMemory, OneCallUsesTheStreamsPoolAndDoesNotSynchronise) {
  Case c(small_problem(cuda0));
  ASSERT_EQ(convolve(c), HCONV_OK);
  fake_cuda_reset_calls();
  int stream;
  ASSERT_EQ(convolve(c, &stream), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuMemAllocAsync"), 1);
  EXPECT_EQ(calls("cuMemFreeAsync"), 1);
  EXPECT_EQ(calls("cuMemAlloc_v2"), 0);
  EXPECT_EQ(calls("cuStreamSynchronize"), 0);
  EXPECT_EQ(calls("cuModuleLoadData"), 0);
  EXPECT_EQ(fake_cuda_live_allocations(), 0);
}

TEST_F(CudaMemory, ZeroBatchLaunchesNothing) {
  hconv_problem p = small_problem(cuda0);
  p.batch = 0;
  Case c(p);
  c.x.dl.data = c.y.dl.data = nullptr;
  ASSERT_EQ(convolve(c), HCONV_OK) << hconv_last_error();
  EXPECT_EQ(calls("cuLaunchKernel"), 0);
  EXPECT_EQ(calls("cuMemAllocAsync"), 0);
}

} // namespace
