extern "C" __global__ void __launch_bounds__(32, 1)
    Pipeline_SumsInBlocks(const hconv::bfloat16 *__restrict__ a, const hconv::bfloat16 *__restrict__ b, float *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bm = blockIdx.x;
  hconv::bfloat16 *a_tile_b_tile = reinterpret_cast<hconv::bfloat16 *>(shared); // 1920 elements
  float sum_0[8];
  // produce sum
  #pragma unroll
  for (int mt = 0; mt < 2; mt++) {
    #pragma unroll
    for (int m_half = 0; m_half < 2; m_half++) {
      #pragma unroll
      for (int pair = 0; pair < 2; pair++) {
        sum_0[(mt * 2 + m_half) * 2 + pair] = 0.0f;
      }
    }
  }
  __syncthreads();
  const bool t80 = thread_x <= 15;
  int32_t now[2];
  int32_t ahead[2];
  float *totals = reinterpret_cast<float *>(shared + 3840); // 256 elements
  #pragma unroll
  for (int sum = 0; sum < 8; sum++) {
    totals[sum * 32 + thread_x] = 0.0f;
  }
  ahead[0] = 0;
  ahead[1] = 0;
  now[0] = 0;
  now[1] = 0;
  hconv::bfloat16 *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 960;
  const int32_t chunk = ahead[0];
  // produce a_tile
  const int32_t vec_base_s = chunk * 2 + (thread_x & 1);
  const int32_t t86 = vec_base_s - chunk * 2;
  for (int row = 0; row < 2; row++) {
    const int32_t m = (thread_x >> 1) + (bm * 2 + row) * 16;
    hconv::cp_async16(a_tile_b_tile_write + (((thread_x >> 1) + row * 16) * 3 + t86) * 8, a + (m * 4 + vec_base_s) * 8, 16);
  }
  // produce b_tile
  if (t80) {
    const int32_t vec_base_s_1 = chunk * 2 + (thread_x & 1);
    hconv::cp_async16(a_tile_b_tile_write + ((thread_x >> 1) * 3 + vec_base_s_1 - chunk * 2) * 8 + 768, b + ((thread_x >> 1) * 4 + vec_base_s_1) * 8, 16);
  }
  ahead[0] = ahead[0] + 1;
  ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
  hconv::cp_async_commit();
  #pragma unroll 1
  for (int step = 0; step < 2; step++) {
    hconv::cp_async_wait<0>();
    __syncthreads();
    if (step < 1) {
      {
        hconv::bfloat16 *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 960;
        {
          const int32_t chunk = ahead[0];
          // produce a_tile
          {
            const int32_t vec_base_s = chunk * 2 + (thread_x & 1);
            {
              const int32_t t86 = vec_base_s - chunk * 2;
              for (int row = 0; row < 2; row++) {
                const int32_t m = (thread_x >> 1) + (bm * 2 + row) * 16;
                hconv::cp_async16(a_tile_b_tile_write + (((thread_x >> 1) + row * 16) * 3 + t86) * 8, a + (m * 4 + vec_base_s) * 8, 16);
              }
            }
          }
          // produce b_tile
          if (t80) {
            const int32_t vec_base_s_1 = chunk * 2 + (thread_x & 1);
            hconv::cp_async16(a_tile_b_tile_write + ((thread_x >> 1) * 3 + vec_base_s_1 - chunk * 2) * 8 + 768, b + ((thread_x >> 1) * 4 + vec_base_s_1) * 8, 16);
          }
        }
      }
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
    hconv::bfloat16 *const a_tile_b_tile_read = a_tile_b_tile + now[1] * 960;
    // consume b_tile
    // consume a_tile
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      for (int k = 0; k < 16; k++) {
        #pragma unroll
        for (int m_half_1 = 0; m_half_1 < 2; m_half_1++) {
          const int32_t m_1 = (thread_x >> 2) + m_half_1 * 8;
          #pragma unroll
          for (int pair_1 = 0; pair_1 < 2; pair_1++) {
            sum_0[(mt_1 * 2 + m_half_1) * 2 + pair_1] = sum_0[(mt_1 * 2 + m_half_1) * 2 + pair_1] + float(a_tile_b_tile_read[(mt_1 * 16 + m_1) * 24 + k]) * float(a_tile_b_tile_read[((thread_x & 3) * 2 + pair_1) * 24 + k + 768]);
          }
        }
      }
    }
    if ((step + 1 & 1) == 0) {
      #pragma unroll
      for (int sum = 0; sum < 8; sum++) {
        totals[sum * 32 + thread_x] = totals[sum * 32 + thread_x] + sum_0[sum];
        sum_0[sum] = 0.0f;
      }
    }
    now[0] = now[0] + 1;
    now[1] = now[1] == 1 ? 0 : now[1] + 1;
  }
  hconv::cp_async_wait<0>();
  __syncthreads();
  #pragma unroll
  for (int sum = 0; sum < 8; sum++) {
    sum_0[sum] = totals[sum * 32 + thread_x] + sum_0[sum];
  }
  __syncthreads();
  // consume sum
  #pragma unroll
  for (int mt_2 = 0; mt_2 < 2; mt_2++) {
    #pragma unroll
    for (int m_half_2 = 0; m_half_2 < 2; m_half_2++) {
      const int32_t m_2 = (thread_x >> 2) + m_half_2 * 8;
      const int32_t t98_s = ((bm * 2 + mt_2) * 16 + m_2) * 4 + (thread_x & 3);
      #pragma unroll
      for (int pair_2 = 0; pair_2 < 2; pair_2++) {
        c[t98_s * 2 + pair_2] = sum_0[(mt_2 * 2 + m_half_2) * 2 + pair_2];
      }
    }
  }
}
HCONV_REGISTER_KERNEL(Pipeline_SumsInBlocks)
