extern "C" __global__ void __launch_bounds__(32, 1)
    TensorCore_InsideAPipeline(const hconv::bfloat16 *__restrict__ a, const hconv::bfloat16 *__restrict__ b, float *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bm = blockIdx.x;
  hconv::bfloat16 *a_tile_b_tile = reinterpret_cast<hconv::bfloat16 *>(shared); // 3072 elements
  float sum_0[32];
  // produce sum
  #pragma unroll
  for (int mt = 0; mt < 2; mt++) {
    #pragma unroll
    for (int m_half = 0; m_half < 2; m_half++) {
      #pragma unroll
      for (int nt = 0; nt < 4; nt++) {
        #pragma unroll
        for (int pair = 0; pair < 2; pair++) {
          sum_0[nt * 2 + ((mt * 2 + m_half) * 8 + pair)] = 0.0f;
        }
      }
    }
  }
  __syncthreads();
  int32_t now[2];
  int32_t ahead[2];
  uint32_t copy_place[1];
  uint32_t copy_offset[2];
  uint32_t read_place[2];
  read_place[0] = hconv::kept(((uint32_t(thread_x >> 3 & 1) * 8u + uint32_t(thread_x & 7)) * 3u + uint32_t(thread_x >> 4)) * 8u);
  read_place[1] = hconv::kept((uint32_t(thread_x >> 4) * 24u + (uint32_t(thread_x & 1) * 3u + (uint32_t((thread_x & 7) >> 1) * 6u + uint32_t(thread_x >> 3 & 1)))) * 8u);
  copy_offset[0] = hconv::kept((uint32_t(bm) * 128u + (uint32_t(thread_x >> 1) * 4u + uint32_t(thread_x & 1))) * 8u);
  copy_place[0] = hconv::kept((uint32_t(thread_x >> 1) * 3u + uint32_t(thread_x & 1)) * 8u);
  copy_offset[1] = hconv::kept((uint32_t(thread_x >> 1) * 4u + uint32_t(thread_x & 1)) * 8u);
  ahead[0] = 0;
  ahead[1] = 0;
  now[0] = 0;
  now[1] = 0;
  hconv::bfloat16 *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 1536;
  const int32_t chunk = ahead[0];
  // produce a_tile
  const uint32_t moved1_s = uint32_t(chunk);
  const uint32_t moved0_s = uint32_t(chunk);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 16u), 16);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 384, a + int32_t(copy_offset[0] + moved1_s * 16u + 512u), 16);
  // produce b_tile
  const uint32_t moved1_s_1 = uint32_t(chunk);
  const uint32_t moved0_s_1 = uint32_t(chunk);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 768, b + int32_t(copy_offset[1] + moved0_s_1 * 16u), 16);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 1152, b + int32_t(copy_offset[1] + moved1_s_1 * 16u + 512u), 16);
  ahead[0] = ahead[0] + 1;
  ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
  hconv::cp_async_commit();
  #pragma unroll 1
  for (int step = 0; step < 2; step++) {
    hconv::cp_async_wait<0>();
    __syncthreads();
    if (step < 1) {
      {
        hconv::bfloat16 *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 1536;
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
            const uint32_t moved1_s_1 = uint32_t(chunk);
            {
              const uint32_t moved0_s_1 = uint32_t(chunk);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 768, b + int32_t(copy_offset[1] + moved0_s_1 * 16u), 16);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 1152, b + int32_t(copy_offset[1] + moved1_s_1 * 16u + 512u), 16);
            }
          }
        }
      }
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
    hconv::bfloat16 *const a_tile_b_tile_read = a_tile_b_tile + now[1] * 1536;
    hconv::bfloat16 *const a_tile_b_tile_place0 = a_tile_b_tile_read + int32_t(read_place[0]);
    hconv::bfloat16 *const a_tile_b_tile_place1 = a_tile_b_tile_read + int32_t(read_place[1]);
    // consume b_tile
    // consume a_tile
    uint32_t a_fragments[8];
    uint32_t b_fragments[8];
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      hconv::load_matrix_x4(a_fragments + mt_1 * 4, a_tile_b_tile_place0 + mt_1 * 384);
    }
    #pragma unroll
    for (int nt_1 = 0; nt_1 < 2; nt_1++) {
      hconv::load_matrix_x4(b_fragments + nt_1 * 4, a_tile_b_tile_place1 + nt_1 * 384 + 768);
    }
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      #pragma unroll
      for (int nt_1 = 0; nt_1 < 4; nt_1++) {
        hconv::mma_bf16(sum_0[(mt_1 * 8 + nt_1) * 2], sum_0[(mt_1 * 8 + nt_1) * 2 + 1], sum_0[(mt_1 * 8 + nt_1) * 2 + 8], sum_0[(mt_1 * 8 + nt_1) * 2 + 9], a_fragments + mt_1 * 4, b_fragments + nt_1 * 2);
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
  for (int mt_2 = 0; mt_2 < 2; mt_2++) {
    #pragma unroll
    for (int m_half_1 = 0; m_half_1 < 2; m_half_1++) {
      const int32_t m = (thread_x >> 2) + m_half_1 * 8;
      #pragma unroll
      for (int nt_2 = 0; nt_2 < 4; nt_2++) {
        const int32_t t52_s = nt_2 * 4 + (thread_x & 3);
        #pragma unroll
        for (int pair_1 = 0; pair_1 < 2; pair_1++) {
          c[(((bm * 2 + mt_2) * 16 + m) * 16 + t52_s) * 2 + pair_1] = sum_0[nt_2 * 2 + ((mt_2 * 2 + m_half_1) * 8 + pair_1)];
        }
      }
    }
  }
}
HCONV_REGISTER_KERNEL(TensorCore_InsideAPipeline)
