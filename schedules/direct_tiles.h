/** Parameters that the direct convolution's schedules share; a row of variants.txt sets them. */
#pragma once

namespace hconv {

/** Tile sizes in elements. A block (CUDA) or task (CPU) computes tile_oc x tile_oh x tile_ow outputs of one image. */
struct DirectTiles {
  int tile_oc, tile_ow, tile_oh;
  int thread_oc, thread_ow; // outputs of one thread, or of the register tile on the CPU
  int thread_oh;            // rows of one thread (CUDA)
  int ic;                   // input channels staged at once
  int kh_tile;              // rows of taps staged at once; KH is a multiple of it
  int kw_tile;              // taps of KW staged at once
  int kw;                   // KW is a multiple of this, which is kw_tile; 0: any KW
  int stages;               // depth of the software pipeline; 1 stages and computes in turn
  int warps;                // 32 threads each
  bool nhwc = false;        // channels of x and y are innermost, multiples of 8 (tensor cores)
  bool wide_stores = false; // quad_stores makes 16-byte stores of them
  bool a_shared = false;    // wgmma reads the tensor core's rows by descriptor, as it does the columns
};

} // namespace hconv
