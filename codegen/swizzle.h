/** swizzle: lays rows of a shared array out as the descriptors of wgmma want them. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Rows of 16-bit elements in a shared array, one behind the other. */
struct SwizzledRows {
  std::string array;
  int elements = 0;           // of a row: 16, 32 or 64
  int64_t begin = 0, end = 0; // elements of the array that hold rows; other arrays may share its memory

  /** Elements after which the pattern repeats: 8 rows. */
  int period() const { return 8 * elements; }
};

/** Moves the 16-byte pieces of the rows to the places of the swizzle of 2 * elements bytes: bits 4 and up of a byte's
 * address become themselves exclusive-or bits 7 and up. Every access that may fall into the rows must do so for certain
 * and touch one piece only; anything else is a compile error. Rounds the array's size up to whole periods and sets
 * kernel.shared_alignment. With `fence`, each producer of rows ends with a fence that shows them to the asynchronous
 * proxy. `body` is the kernel's. */
Halide::Internal::Stmt swizzle_rows(CudaKernel &kernel, const Halide::Internal::Stmt &body, const SwizzledRows &rows,
                                    bool fence);

} // namespace hconv
