extern "C" __global__ void __launch_bounds__(32, 1)
    CudaPrinter_Bfloat16Vectors(const int32_t t9, const hconv::bfloat16 *__restrict__ x, hconv::bfloat16 *__restrict__ y) {
  const int thread_x = threadIdx.x;
  const int block = blockIdx.x;
  const int32_t vec_base = hconv::minimum((block * 32 + thread_x) * 4, t9 * 128 + -4);
  hconv::store_aligned(y + vec_base, hconv::vec<hconv::bfloat16, 4>::convert(hconv::vec<float, 4>::convert(hconv::load_aligned<hconv::vec<hconv::bfloat16, 4>>(x + vec_base)) * hconv::vec<float, 4>::broadcast(2.0f)));
}
HCONV_REGISTER_KERNEL(CudaPrinter_Bfloat16Vectors)
