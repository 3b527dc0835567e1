extern "C" __global__ void __launch_bounds__(64, 1)
    Pipeline_Matmul(const int32_t a_stride_1, const int32_t b_stride_1, const int32_t c_stride_1, const int32_t t49, const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bi = blockIdx.x;
  const int thread_y = threadIdx.y;
  const int bj = blockIdx.y;
  float *a_tile_b_tile = reinterpret_cast<float *>(shared); // 1152 elements
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
  uint32_t copy_place[1];
  uint32_t copy_offset[2];
  uint32_t read_place[2];
  read_place[0] = hconv::kept(uint32_t(thread_y) * 16u);
  read_place[1] = hconv::kept(uint32_t(thread_x) * 4u);
  copy_offset[0] = hconv::kept(uint32_t(a_stride_1) * uint32_t(bj) * 32u + (uint32_t(thread_y * 4 + thread_x >> 3) * uint32_t(a_stride_1) + uint32_t(thread_y * 4 + thread_x & 7)));
  copy_place[0] = hconv::kept(uint32_t(thread_y) * 4u + uint32_t(thread_x));
  copy_offset[1] = hconv::kept(uint32_t(bi) * 16u + (uint32_t(thread_y * 4 + thread_x >> 4) * uint32_t(b_stride_1) + uint32_t(thread_y * 4 + thread_x & 15)));
  ahead[0] = 0;
  ahead[1] = 0;
  now[0] = 0;
  now[1] = 0;
  for (int step = 0; step < 2; step++) {
    if (step < t49) {
      float *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 384;
      const int32_t chunk = ahead[0];
      // produce a_tile
      const uint32_t moved0_s = uint32_t(chunk);
      const uint32_t moved1_s = uint32_t(a_stride_1) + uint32_t(chunk);
      const uint32_t moved3_s = uint32_t(a_stride_1) * 3u + uint32_t(chunk);
      const uint32_t moved2_s = uint32_t(a_stride_1) * 2u + uint32_t(chunk);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 64, a + int32_t(copy_offset[0] + moved1_s * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 128, a + int32_t(copy_offset[0] + moved2_s * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 192, a + int32_t(copy_offset[0] + moved3_s * 8u), 4);
      // produce b_tile
      const uint32_t moved0_s_1 = uint32_t(b_stride_1) * uint32_t(chunk);
      const uint32_t moved1_s_1 = uint32_t(b_stride_1) * uint32_t(chunk) * 2u + uint32_t(b_stride_1);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 256, b + int32_t(copy_offset[1] + moved0_s_1 * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 320, b + int32_t(copy_offset[1] + moved1_s_1 * 4u), 4);
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 2 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
  }
  #pragma unroll 1
  for (int step = 0; step < t49; step++) {
    hconv::cp_async_wait<1>();
    __syncthreads();
    if (step < t49 + -2) {
      float *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 384;
      const int32_t chunk = ahead[0];
      // produce a_tile
      const uint32_t moved0_s = uint32_t(chunk);
      const uint32_t moved1_s = uint32_t(a_stride_1) + uint32_t(chunk);
      const uint32_t moved3_s = uint32_t(a_stride_1) * 3u + uint32_t(chunk);
      const uint32_t moved2_s = uint32_t(a_stride_1) * 2u + uint32_t(chunk);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 64, a + int32_t(copy_offset[0] + moved1_s * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 128, a + int32_t(copy_offset[0] + moved2_s * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 192, a + int32_t(copy_offset[0] + moved3_s * 8u), 4);
      // produce b_tile
      const uint32_t moved0_s_1 = uint32_t(b_stride_1) * uint32_t(chunk);
      const uint32_t moved1_s_1 = uint32_t(b_stride_1) * uint32_t(chunk) * 2u + uint32_t(b_stride_1);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 256, b + int32_t(copy_offset[1] + moved0_s_1 * 8u), 4);
      hconv::cp_async4(a_tile_b_tile_write + int32_t(copy_place[0]) + 320, b + int32_t(copy_offset[1] + moved1_s_1 * 4u), 4);
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 2 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
    float *const a_tile_b_tile_read = a_tile_b_tile + now[1] * 384;
    float *const a_tile_b_tile_place0 = a_tile_b_tile_read + int32_t(read_place[0]);
    float *const a_tile_b_tile_place1 = a_tile_b_tile_read + int32_t(read_place[1]);
    // consume b_tile
    // consume a_tile
    for (int kk = 0; kk < 8; kk++) {
      #pragma unroll
      for (int ej_1 = 0; ej_1 < 2; ej_1++) {
        #pragma unroll
        for (int ei_1 = 0; ei_1 < 4; ei_1++) {
          sum_0[ej_1 * 4 + ei_1] = sum_0[ej_1 * 4 + ei_1] + a_tile_b_tile_place0[ej_1 * 8 + kk] * a_tile_b_tile_place1[kk * 16 + ei_1 + 256];
        }
      }
    }
    now[0] = now[0] + 1;
    now[1] = now[1] == 2 ? 0 : now[1] + 1;
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
      c[ei_2 + t64] = sum_0[ej_2 * 4 + ei_2];
    }
  }
}
HCONV_REGISTER_KERNEL(Pipeline_Matmul)
