extern "C" __global__ void __launch_bounds__(128, 1)
    WarpgroupMma_BothSharedInAPipelineOfTwo(const hconv::half *__restrict__ a, const hconv::half *__restrict__ b, hconv::half *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bn = blockIdx.x;
  const int thread_y = threadIdx.y;
  hconv::half *a_tile_b_tile = reinterpret_cast<hconv::half *>(shared); // 8192 elements
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
  int32_t now[2];
  int32_t ahead[2];
  uint32_t copy_place[1];
  uint32_t copy_offset[2];
  copy_offset[0] = hconv::kept((uint32_t(thread_y) * 64u + (uint32_t(thread_x >> 2) * 8u + uint32_t(thread_x & 3))) * 8u);
  copy_place[0] = hconv::kept(uint32_t(thread_y) * 256u + uint32_t(thread_x * 8 ^ (thread_x >> 3) * 8));
  copy_offset[1] = hconv::kept((uint32_t(thread_y) * 64u + (uint32_t(bn) * 512u + (uint32_t(thread_x >> 2) * 8u + uint32_t(thread_x & 3)))) * 8u);
  ahead[0] = 0;
  ahead[1] = 0;
  now[0] = 0;
  now[1] = 0;
  hconv::half *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 4096;
  const int32_t chunk = ahead[0];
  // produce a_tile
  const uint32_t moved0_s = uint32_t(chunk);
  const uint32_t moved1_s = uint32_t(chunk);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 32u), 16);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 1024, a + int32_t(copy_offset[0] + moved1_s * 32u + 2048u), 16);
  // produce b_tile
  const uint32_t moved0_s_1 = uint32_t(chunk);
  const uint32_t moved1_s_1 = uint32_t(chunk);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 2048, b + int32_t(copy_offset[1] + moved0_s_1 * 32u), 16);
  hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 3072, b + int32_t(copy_offset[1] + moved1_s_1 * 32u + 2048u), 16);
  ahead[0] = ahead[0] + 1;
  ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
  hconv::cp_async_commit();
  #pragma unroll 1
  for (int step = 0; step < 2; step++) {
    hconv::cp_async_wait<0>();
    hconv::fence_proxy_async();
    __syncthreads();
    if (step < 1) {
      {
        hconv::half *const a_tile_b_tile_write = a_tile_b_tile + ahead[1] * 4096;
        {
          const int32_t chunk = ahead[0];
          // produce a_tile
          {
            const uint32_t moved0_s = uint32_t(chunk);
            {
              const uint32_t moved1_s = uint32_t(chunk);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]), a + int32_t(copy_offset[0] + moved0_s * 32u), 16);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 1024, a + int32_t(copy_offset[0] + moved1_s * 32u + 2048u), 16);
            }
          }
          // produce b_tile
          {
            const uint32_t moved0_s_1 = uint32_t(chunk);
            {
              const uint32_t moved1_s_1 = uint32_t(chunk);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 2048, b + int32_t(copy_offset[1] + moved0_s_1 * 32u), 16);
              hconv::cp_async16(a_tile_b_tile_write + int32_t(copy_place[0]) + 3072, b + int32_t(copy_offset[1] + moved1_s_1 * 32u + 2048u), 16);
            }
          }
        }
      }
      ahead[0] = ahead[0] + 1;
      ahead[1] = ahead[1] == 1 ? 0 : ahead[1] + 1;
    }
    hconv::cp_async_commit();
    hconv::wgmma_fence();
    hconv::half *const a_tile_b_tile_read = a_tile_b_tile + now[1] * 4096;
    // consume b_tile
    // consume a_tile
    const uint64_t b_descriptor = hconv::matrix_descriptor<64>(a_tile_b_tile_read + 2048);
    const uint64_t a_descriptor = hconv::matrix_descriptor<64>(a_tile_b_tile_read);
    for (int step_1 = 0; step_1 < 2; step_1++) {
      hconv::wgmma_f16<64, 2, 16, 1>(sum_0, a_descriptor + uint64_t(step_1 * 2), b_descriptor + uint64_t(step_1 * 2));
    }
    hconv::wgmma_commit();
    hconv::wgmma_wait<0>();
    now[0] = now[0] + 1;
    now[1] = now[1] == 1 ? 0 : now[1] + 1;
  }
  hconv::cp_async_wait<0>();
  __syncthreads();
  hconv::wgmma_wait_all<32>(sum_0);
  __syncthreads();
  // consume sum
  #pragma unroll
  for (int m_half_1 = 0; m_half_1 < 2; m_half_1++) {
    const int32_t m = (thread_x >> 2) + m_half_1 * 8;
    #pragma unroll
    for (int nt_1 = 0; nt_1 < 8; nt_1++) {
      const int32_t t72_s = nt_1 * 4 + (thread_x & 3);
      #pragma unroll
      for (int pair_1 = 0; pair_1 < 2; pair_1++) {
        c[(((thread_y * 16 + m) * 2 + bn) * 32 + t72_s) * 2 + pair_1] = hconv::half(sum_0[nt_1 * 2 + (m_half_1 * 16 + pair_1)]);
      }
    }
  }
}
HCONV_REGISTER_KERNEL(WarpgroupMma_BothSharedInAPipelineOfTwo)
