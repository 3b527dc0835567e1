extern "C" __global__ void __launch_bounds__(64, 1)
    Pipeline_MatmulOfFloat16(const int32_t a_stride_1, const int32_t b_stride_1, const int32_t c_stride_1, const int32_t t49, const hconv::half *__restrict__ a, const hconv::half *__restrict__ b, hconv::half *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bi = blockIdx.x;
  const int thread_y = threadIdx.y;
  const int bj = blockIdx.y;
  hconv::half *a_tile_b_tile = reinterpret_cast<hconv::half *>(shared); // 768 elements
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
  int32_t now[2];
  int32_t ahead[2];
  uint32_t read_place[2];
  read_place[0] = hconv::kept(uint32_t(thread_y) * 16u);
  read_place[1] = hconv::kept(uint32_t(thread_x) * 4u);
  ahead[0] = 0;
  ahead[1] = 0;
  now[0] = 0;
  now[1] = 0;
  if (0 < t49) {
    hconv::half *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 384;
    const int32_t chunk = ahead[0];
    // produce a_tile
    for (int step = 0; step < 4; step++) {
      const int32_t f = step * 64 + (thread_y * 4 + thread_x);
      a_tile_b_tile_write[f] = a[((f >> 3) + bj * 32) * a_stride_1 + (chunk * 8 + (f & 7))];
    }
    // produce b_tile
    for (int step_1 = 0; step_1 < 2; step_1++) {
      const int32_t f_1 = step_1 * 64 + (thread_y * 4 + thread_x);
      a_tile_b_tile_write[f_1 + 256] = b[((f_1 >> 4) + chunk * 8) * b_stride_1 + (bi * 16 + (f_1 & 15))];
    }
    ahead[0] = ahead[0] + 1;
    ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
  }
  hconv::cp_async_commit();
  #pragma unroll 1
  for (int step_2 = 0; step_2 < t49; step_2++) {
    hconv::cp_async_wait<0>();
    __syncthreads();
    if (step_2 < t49 + -1) {
      hconv::half *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 384;
      const int32_t chunk = ahead[0];
      // produce a_tile
      for (int step = 0; step < 4; step++) {
        const int32_t f = step * 64 + (thread_y * 4 + thread_x);
        a_tile_b_tile_write[f] = a[((f >> 3) + bj * 32) * a_stride_1 + (chunk * 8 + (f & 7))];
      }
      // produce b_tile
      for (int step_1 = 0; step_1 < 2; step_1++) {
        const int32_t f_1 = step_1 * 64 + (thread_y * 4 + thread_x);
        a_tile_b_tile_write[f_1 + 256] = b[((f_1 >> 4) + chunk * 8) * b_stride_1 + (bi * 16 + (f_1 & 15))];
      }
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
    hconv::half *const a_tile_b_tile_read = a_tile_b_tile + now[1] * 384;
    hconv::half *const a_tile_b_tile_place0 = a_tile_b_tile_read + int32_t(read_place[0]);
    hconv::half *const a_tile_b_tile_place1 = a_tile_b_tile_read + int32_t(read_place[1]);
    // consume b_tile
    // consume a_tile
    for (int kk = 0; kk < 8; kk++) {
      #pragma unroll
      for (int ej_1 = 0; ej_1 < 2; ej_1++) {
        #pragma unroll
        for (int ei_1 = 0; ei_1 < 4; ei_1++) {
          sum_0[ej_1 * 4 + ei_1] = sum_0[ej_1 * 4 + ei_1] + float(a_tile_b_tile_place0[ej_1 * 8 + kk]) * float(a_tile_b_tile_place1[kk * 16 + ei_1 + 256]);
        }
      }
    }
    now[0] = now[0] + 1;
    now[1] = now[1] == 1 ? 0 : now[1] + 1;
  }
  hconv::cp_async_wait<0>();
  __syncthreads();
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
HCONV_REGISTER_KERNEL(Pipeline_MatmulOfFloat16)
