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
  int32_t now[2];
  int32_t ahead[2];
  uint32_t copy_place[1];
  uint32_t copy_offset[2];
  uint32_t copy_mask[1];
  uint32_t read_place[2];
  read_place[0] = hconv::kept(uint32_t(thread_x >> 2) * 24u);
  read_place[1] = hconv::kept(uint32_t(thread_x & 3) * 48u);
  copy_offset[0] = hconv::kept((uint32_t(bm) * 128u + (uint32_t(thread_x >> 1) * 4u + uint32_t(thread_x & 1))) * 8u);
  copy_place[0] = hconv::kept((uint32_t(thread_x >> 1) * 3u + uint32_t(thread_x & 1)) * 8u);
  copy_offset[1] = hconv::kept((uint32_t(thread_x >> 1) * 4u + uint32_t(thread_x & 1)) * 8u);
  copy_mask[0] = hconv::kept(15 < thread_x ? 0u : 1u);
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
  const uint32_t moved1_s = uint32_t(chunk);
  const uint32_t moved0_s = uint32_t(chunk);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 16u), 16);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 384, a + int32_t(copy_offset[0] + moved1_s * 16u + 512u), 16);
  // produce b_tile
  const uint32_t moved0_s_1 = uint32_t(chunk);
  if ((copy_mask[0] & 1) != 0u) {
    hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 768, b + int32_t(copy_offset[1] + moved0_s_1 * 16u), 16);
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
            const uint32_t moved1_s = uint32_t(chunk);
            {
              const uint32_t moved0_s = uint32_t(chunk);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 16u), 16);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 384, a + int32_t(copy_offset[0] + moved1_s * 16u + 512u), 16);
            }
          }
          // produce b_tile
          {
            const uint32_t moved0_s_1 = uint32_t(chunk);
            if ((copy_mask[0] & 1) != 0u) {
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 768, b + int32_t(copy_offset[1] + moved0_s_1 * 16u), 16);
            }
          }
        }
      }
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
    hconv::bfloat16 *const a_tile_b_tile_read = a_tile_b_tile + now[1] * 960;
    hconv::bfloat16 *const a_tile_b_tile_place0 = a_tile_b_tile_read + int32_t(read_place[0]);
    hconv::bfloat16 *const a_tile_b_tile_place1 = a_tile_b_tile_read + int32_t(read_place[1]);
    // consume b_tile
    // consume a_tile
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      for (int k = 0; k < 16; k++) {
        #pragma unroll
        for (int m_half_1 = 0; m_half_1 < 2; m_half_1++) {
          #pragma unroll
          for (int pair_1 = 0; pair_1 < 2; pair_1++) {
            sum_0[(mt_1 * 2 + m_half_1) * 2 + pair_1] = sum_0[(mt_1 * 2 + m_half_1) * 2 + pair_1] + float(a_tile_b_tile_place0[(mt_1 * 2 + m_half_1) * 192 + k]) * float(a_tile_b_tile_place1[pair_1 * 24 + k + 768]);
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
      const int32_t m = (thread_x >> 2) + m_half_2 * 8;
      const int32_t t98_s = ((bm * 2 + mt_2) * 16 + m) * 4 + (thread_x & 3);
      #pragma unroll
      for (int pair_2 = 0; pair_2 < 2; pair_2++) {
        c[t98_s * 2 + pair_2] = sum_0[(mt_2 * 2 + m_half_2) * 2 + pair_2];
      }
    }
  }
}
HCONV_REGISTER_KERNEL(Pipeline_SumsInBlocks)
