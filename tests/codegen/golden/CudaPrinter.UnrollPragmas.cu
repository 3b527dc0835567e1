extern "C" __global__ void __launch_bounds__(32, 1)
    unroll_pragmas(const float *__restrict__ x, const int32_t n, float *__restrict__ y) {
  HCONV_SHARED_MEMORY(shared);
  float *tile = reinterpret_cast<float *>(shared); // 8 elements
  float acc[4];
  #pragma unroll
  for (int m = 0; m < 4; m++) {
    acc[m] = 0.0f;
  }
  #pragma unroll 1
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < 8; i++) {
      tile[i] = x[i];
    }
    __syncthreads();
    #pragma unroll
    for (int m = 0; m < 4; m++) {
      acc[m] = acc[m] + tile[m];
    }
    __syncthreads();
  }
  #pragma unroll
  for (int m = 0; m < 4; m++) {
    y[m] = acc[m];
  }
}
HCONV_REGISTER_KERNEL(unroll_pragmas)
