extern "C" __global__ void __launch_bounds__(64, 1)
    CudaPrinter_MatmulOfFloat16(const int32_t a_stride_1, const int32_t b_stride_1, const int32_t c_stride_1, const int32_t t49, const hconv::half *__restrict__ a, const hconv::half *__restrict__ b, hconv::half *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bi = blockIdx.x;
  const int thread_y = threadIdx.y;
  const int bj = blockIdx.y;
  hconv::half *a_tile_b_tile = reinterpret_cast<hconv::half *>(shared); // 384 elements
  float sum_0[8];
  // produce sum
  #pragma unroll
  for (int ej = 0; ej < 2; ej++) {
    #pragma unroll
    for (int ei = 0; ei < 4; ei++) {
      sum_0[ej * 4 + ei] = 0.0f;
    }
  }
  __syncthreads();
  #pragma unroll 1
  for (int chunk = 0; chunk < t49; chunk++) {
    // produce a_tile
    for (int step = 0; step < 4; step++) {
      const int32_t f = step * 64 + (thread_y * 4 + thread_x);
      a_tile_b_tile[f] = a[((f >> 3) + bj * 32) * a_stride_1 + (chunk * 8 + (f & 7))];
    }
    __syncthreads();
    // produce b_tile
    for (int step_1 = 0; step_1 < 2; step_1++) {
      const int32_t f_1 = step_1 * 64 + (thread_y * 4 + thread_x);
      a_tile_b_tile[f_1 + 256] = b[((f_1 >> 4) + chunk * 8) * b_stride_1 + (bi * 16 + (f_1 & 15))];
    }
    __syncthreads();
    // consume b_tile
    // consume a_tile
    for (int kk = 0; kk < 8; kk++) {
      #pragma unroll
      for (int ej_1 = 0; ej_1 < 2; ej_1++) {
        #pragma unroll
        for (int ei_1 = 0; ei_1 < 4; ei_1++) {
          sum_0[ej_1 * 4 + ei_1] = sum_0[ej_1 * 4 + ei_1] + float(a_tile_b_tile[(thread_y * 2 + ej_1) * 8 + kk]) * float(a_tile_b_tile[(kk * 4 + thread_x) * 4 + ei_1 + 256]);
        }
      }
    }
    __syncthreads();
  }
  __syncthreads();
  // consume sum
  #pragma unroll
  for (int ej_2 = 0; ej_2 < 2; ej_2++) {
    const int32_t t64 = ((bj * 16 + thread_y) * 2 + ej_2) * c_stride_1 + (bi * 4 + thread_x) * 4;
    #pragma unroll
    for (int ei_2 = 0; ei_2 < 4; ei_2++) {
      c[ei_2 + t64] = hconv::half(sum_0[ej_2 * 4 + ei_2]);
    }
  }
}
HCONV_REGISTER_KERNEL(CudaPrinter_MatmulOfFloat16)
