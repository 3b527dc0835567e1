extern "C" __global__ void __launch_bounds__(32, 1)
    TensorCore_MatmulOfFloat16WithAnOddTile(const hconv::half *__restrict__ a, const hconv::half *__restrict__ b, float *__restrict__ c) {
  HCONV_SHARED_MEMORY(shared);
  const int thread_x = threadIdx.x;
  const int bm = blockIdx.x;
  hconv::half *a_tile_b_tile = reinterpret_cast<hconv::half *>(shared); // 1344 elements
  float sum_0[24];
  // produce sum
  #pragma unroll
  for (int mt = 0; mt < 2; mt++) {
    #pragma unroll
    for (int m_half = 0; m_half < 2; m_half++) {
      #pragma unroll
      for (int nt = 0; nt < 3; nt++) {
        #pragma unroll
        for (int pair = 0; pair < 2; pair++) {
          sum_0[nt * 2 + ((mt * 2 + m_half) * 6 + pair)] = 0.0f;
        }
      }
    }
  }
  __syncthreads();
  #pragma unroll 1
  for (int chunk = 0; chunk < 2; chunk++) {
    // produce a_tile
    const int32_t vec_base_s = chunk * 2 + (thread_x & 1);
    const int32_t t42 = vec_base_s - chunk * 2;
    for (int row = 0; row < 2; row++) {
      const int32_t m = (thread_x >> 1) + (bm * 2 + row) * 16;
      hconv::store_aligned(a_tile_b_tile + (((thread_x >> 1) + row * 16) * 3 + t42) * 8, hconv::load_aligned<hconv::vec<hconv::half, 8>>(a + (m * 4 + vec_base_s) * 8));
    }
    __syncthreads();
    // produce b_tile
    const int32_t vec_base_s_1 = chunk * 2 + (thread_x & 1);
    const int32_t t43 = vec_base_s_1 - chunk * 2;
    for (int row_1 = 0; row_1 < 2; row_1++) {
      if (row_1 < (23 - (thread_x >> 1) >> 4) + 1) {
        const int32_t n = (thread_x >> 1) + row_1 * 16;
        hconv::store_aligned(a_tile_b_tile + (n * 3 + t43) * 8 + 768, hconv::load_aligned<hconv::vec<hconv::half, 8>>(b + (n * 4 + vec_base_s_1) * 8));
      }
    }
    __syncthreads();
    // consume b_tile
    // consume a_tile
    uint32_t a_fragments[8];
    uint32_t b_fragments[6];
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      hconv::load_matrix_x4(a_fragments + mt_1 * 4, a_tile_b_tile + ((thread_x >> 4) + (mt_1 * 16 + ((thread_x >> 3 & 1) * 8 + (thread_x & 7))) * 3) * 8);
    }
    #pragma unroll
    for (int nt_1 = 0; nt_1 < 3; nt_1++) {
      hconv::load_matrix_x2(b_fragments + nt_1 * 2, a_tile_b_tile + (((((thread_x & 7) >> 1) + nt_1 * 4) * 2 + (thread_x & 1)) * 3 + (thread_x >> 3 & 1)) * 8 + 768);
    }
    #pragma unroll
    for (int mt_1 = 0; mt_1 < 2; mt_1++) {
      #pragma unroll
      for (int nt_1 = 0; nt_1 < 3; nt_1++) {
        hconv::mma_f16(sum_0[(mt_1 * 6 + nt_1) * 2], sum_0[(mt_1 * 6 + nt_1) * 2 + 1], sum_0[(mt_1 * 6 + nt_1) * 2 + 6], sum_0[(mt_1 * 6 + nt_1) * 2 + 7], a_fragments + mt_1 * 4, b_fragments + nt_1 * 2);
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
      for (int nt_2 = 0; nt_2 < 3; nt_2++) {
        const int32_t t55_s = nt_2 * 4 + (thread_x & 3);
        #pragma unroll
        for (int pair_1 = 0; pair_1 < 2; pair_1++) {
          c[(((bm * 2 + mt_2) * 16 + m_1) * 12 + t55_s) * 2 + pair_1] = sum_0[nt_2 * 2 + ((mt_2 * 2 + m_half_1) * 6 + pair_1)];
        }
      }
    }
  }
}
HCONV_REGISTER_KERNEL(TensorCore_MatmulOfFloat16WithAnOddTile)
