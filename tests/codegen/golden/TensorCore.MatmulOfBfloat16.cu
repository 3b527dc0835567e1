extern "C" __global__ void __launch_bounds__(32, 1)
    TensorCore_MatmulOfBfloat16(const hconv::bfloat16 *__restrict__ a, const hconv::bfloat16 *__restrict__ b, float *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bm = blockIdx.x;
  hconv::bfloat16 *a_tile_b_tile = reinterpret_cast<hconv::bfloat16 *>(shared); // 1536 elements
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
  #pragma unroll 1
  for (int chunk = 0; chunk < 2; chunk++) {
    // produce a_tile
    const int32_t vec_base_s = chunk * 2 + (thread_x & 1);
    const int32_t t39 = vec_base_s - chunk * 2;
    for (int row = 0; row < 2; row++) {
      const int32_t m = (thread_x >> 1) + (bm * 2 + row) * 16;
      hconv::store_aligned(a_tile_b_tile + (((thread_x >> 1) + row * 16) * 3 + t39) * 8, hconv::load_aligned<hconv::vec<hconv::bfloat16, 8>>(a + (m * 4 + vec_base_s) * 8));
    }
    __syncthreads();
    // produce b_tile
    const int32_t vec_base_s_1 = chunk * 2 + (thread_x & 1);
    const int32_t t40 = vec_base_s_1 - chunk * 2;
    for (int row_1 = 0; row_1 < 2; row_1++) {
      const int32_t n = (thread_x >> 1) + row_1 * 16;
      hconv::store_aligned(a_tile_b_tile + (n * 3 + t40) * 8 + 768, hconv::load_aligned<hconv::vec<hconv::bfloat16, 8>>(b + (n * 4 + vec_base_s_1) * 8));
    }
    __syncthreads();
    // consume b_tile
    // consume a_tile
    uint32_t a_fragments[8];
    uint32_t b_fragments[8];
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      hconv::load_matrix_x4(a_fragments + mt_1 * 4, a_tile_b_tile + ((thread_x >> 4) + (mt_1 * 16 + ((thread_x >> 3 & 1) * 8 + (thread_x & 7))) * 3) * 8);
    }
    #pragma unroll
    for (int nt_1 = 0; nt_1 < 2; nt_1++) {
      hconv::load_matrix_x4(b_fragments + nt_1 * 2 * 2, a_tile_b_tile + (((((thread_x & 7) >> 1) + ((thread_x >> 4) + nt_1 * 2) * 4) * 2 + (thread_x & 1)) * 3 + (thread_x >> 3 & 1)) * 8 + 768);
    }
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      #pragma unroll
      for (int nt_1 = 0; nt_1 < 4; nt_1++) {
        hconv::mma_bf16(sum_0[(mt_1 * 8 + nt_1) * 2], sum_0[(mt_1 * 8 + nt_1) * 2 + 1], sum_0[(mt_1 * 8 + nt_1) * 2 + 8], sum_0[(mt_1 * 8 + nt_1) * 2 + 9], a_fragments + mt_1 * 4, b_fragments + nt_1 * 2);
      }
    }
    __syncthreads();
  }
  __syncthreads();
  // consume sum
  #pragma unroll
  for (int mt_2 = 0; mt_2 < 2; mt_2++) {
    #pragma unroll
    for (int m_half_1 = 0; m_half_1 < 2; m_half_1++) {
      const int32_t m_1 = (thread_x >> 2) + m_half_1 * 8;
      #pragma unroll
      for (int nt_2 = 0; nt_2 < 4; nt_2++) {
        const int32_t t52_s = nt_2 * 4 + (thread_x & 3);
        #pragma unroll
        for (int pair_1 = 0; pair_1 < 2; pair_1++) {
          c[(((bm * 2 + mt_2) * 16 + m_1) * 16 + t52_s) * 2 + pair_1] = sum_0[nt_2 * 2 + ((mt_2 * 2 + m_half_1) * 8 + pair_1)];
        }
      }
    }
  }
}
HCONV_REGISTER_KERNEL(TensorCore_MatmulOfBfloat16)
