extern "C" __global__ void __launch_bounds__(32, 1)
    CudaPrinter_ScaledVectors(const int32_t t9, const float *__restrict__ x, float *__restrict__ y) {
  const int thread_x = threadIdx.x;
  const int block = blockIdx.x;
  const int32_t vec_base = hconv::minimum((block * 32 + thread_x) * 4, t9 * 128 + -4);
  hconv::store_aligned(y + vec_base, hconv::load_aligned<hconv::vec<float, 4>>(x + vec_base) * hconv::vec<float, 4>::broadcast(2.0f));
}
HCONV_REGISTER_KERNEL(CudaPrinter_ScaledVectors)
