extern "C" __global__ void __launch_bounds__(128, 1)
    QuadStores_OfAWarpgroup(const hconv::bfloat16 *__restrict__ a, const hconv::bfloat16 *__restrict__ b, hconv::bfloat16 *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bn = blockIdx.x;
  const int thread_y = threadIdx.y;
  hconv::bfloat16 *a_tile_b_tile = reinterpret_cast<hconv::bfloat16 *>(shared); // 4608 elements
  float sum_0[32];
  // produce sum
  #pragma unroll
  for (int m_half = 0; m_half < 2; m_half++) {
    #pragma unroll
    for (int nt = 0; nt < 8; nt++) {
      #pragma unroll
      for (int pair = 0; pair < 2; pair++) {
        sum_0[nt * 2 + (m_half * 16 + pair)] = 0.0f;
      }
    }
  }
  __syncthreads();
  const int32_t t49 = (thread_x >> 2) + thread_y * 8;
  #pragma unroll 1
  for (int chunk = 0; chunk < 2; chunk++) {
    // produce a_tile
    const int32_t vec_base_s = chunk * 4 + (thread_x & 3);
    const int32_t t59 = vec_base_s - chunk * 4;
    for (int row = 0; row < 2; row++) {
      hconv::store_aligned(a_tile_b_tile + ((row * 32 + t49) * 5 + t59) * 8, hconv::load_aligned<hconv::vec<hconv::bfloat16, 8>>(a + ((row * 32 + t49) * 8 + vec_base_s) * 8));
    }
    __syncthreads();
    // produce b_tile
    const int32_t vec_base_s_1 = chunk * 4 + (thread_x & 3);
    for (int row_1 = 0; row_1 < 2; row_1++) {
      hconv::store_aligned(a_tile_b_tile + ((row_1 * 32 + (t49 - chunk)) * 4 + vec_base_s_1) * 8 + 2560, hconv::load_aligned<hconv::vec<hconv::bfloat16, 8>>(b + ((row_1 * 32 + (bn * 64 + t49)) * 8 + vec_base_s_1) * 8));
    }
    __syncthreads();
    // consume b_tile
    // consume a_tile
    for (int step = 0; step < 2; step++) {
      #pragma unroll
      for (int nt_1 = 0; nt_1 < 8; nt_1++) {
        const int32_t t62_s = (bn * 8 + nt_1) * 4 + (thread_x & 3);
        const int32_t t99_s = t62_s - bn * 32;
        for (int k = 0; k < 16; k++) {
          #pragma unroll
          for (int m_half_1 = 0; m_half_1 < 2; m_half_1++) {
            const int32_t m = (thread_x >> 2) + m_half_1 * 8;
            const int32_t t65 = (thread_y * 16 + m) * 40 + (step * 16 + k);
            #pragma unroll
            for (int pair_1 = 0; pair_1 < 2; pair_1++) {
              sum_0[nt_1 * 2 + (m_half_1 * 16 + pair_1)] = sum_0[nt_1 * 2 + (m_half_1 * 16 + pair_1)] + float(a_tile_b_tile[t65]) * float(a_tile_b_tile[(t99_s * 2 + pair_1) * 32 + (step * 16 + k) + 2560]);
            }
          }
        }
      }
    }
    __syncthreads();
  }
  __syncthreads();
  // consume sum
  hconv::bfloat16 row_values[32];
  #pragma unroll
  for (int m_half_2 = 0; m_half_2 < 2; m_half_2++) {
    #pragma unroll
    for (int nt_2 = 0; nt_2 < 8; nt_2++) {
      #pragma unroll
      for (int pair_2 = 0; pair_2 < 2; pair_2++) {
        row_values[(m_half_2 * 8 + nt_2) * 2 + pair_2] = hconv::bfloat16(sum_0[nt_2 * 2 + (m_half_2 * 16 + pair_2)]);
      }
    }
  }
  #pragma unroll
  for (int group = 0; group < 4; group++) {
    hconv::exchange(row_values + group * 8);
    if (true) {
      const int32_t row_index = (((thread_y * 16 + ((thread_x >> 2) + (group * 4 + (thread_x & 3) >> 3 & 1) * 8)) * 2 + bn) * 8 + (group * 4 + (thread_x & 3) & 7)) * 8;
      if (true) {
        hconv::store_row(c + row_index, row_values + group * 8);
      }
      else {
        hconv::store_some(c + row_index, row_values + group * 8, 255);
      }
    }
  }
}
HCONV_REGISTER_KERNEL(QuadStores_OfAWarpgroup)
