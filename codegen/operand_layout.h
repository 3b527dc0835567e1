/** operand_layout: lays rows of a shared array out as a descriptor of wgmma can describe them. */
#pragma once

#include "kernel.h"
#include <vector>

namespace hconv {

/** Rows of 16-bit elements, one behind the other in a part of a shared array; a wgmma reads groups of 8 neighbours. */
struct DescribedRows {
  std::string array;
  int elements = 0;           // of a row: 16, 32 or 64
  int64_t begin = 0, end = 0; // elements of the array that hold rows; other arrays may share its memory
  int64_t group = 8;          // rows from one group of a wgmma to the next
  bool swizzled = false;      // every group starts at a multiple of 8 rows

  /** Elements after which the swizzle's pattern repeats: 8 rows. */
  int period() const { return 8 * elements; }
  /** Without the swizzle: elements from one plane to the next. */
  int64_t plane() const { return ((end - begin) / elements / 2 * 2 + 1) * 8; }
  /** Elements that the rows take. */
  int64_t size() const { return swizzled ? end - begin : plane() * (elements / 8); }
  /** In units of 16 bytes: from a row's element 0 to its element 16, and from a row to the one `rows` behind it. */
  int64_t next_step() const { return swizzled ? 2 : plane() / 4; }
  int64_t rows_apart(int64_t rows) const { return swizzled ? rows * elements / 8 : rows; }
  /** The call of the prelude that makes a descriptor from the address of a group. */
  std::string descriptor() const;
};

/** Moves the pieces of 16 bytes of all operands' rows, in every access of them, to
 *
 *     swizzled: the places of the swizzle of 2 * elements bytes, which exclusive-ors the number of the row onto that of
 *       the piece. Rounds the array's size up to whole periods and sets kernel.shared_alignment.
 *     else: planes, of which the i-th holds piece i of all rows, one behind the other; planes are an odd number of
 *       pieces apart, so that neither copies of whole rows nor wgmma meet bank conflicts. A group may start at any row.
 *       The rows must be the last in their array, which grows.
 *
 * Two operands may share an array. An access that may fall into rows must do so for certain and touch one piece only;
 * anything else is a compile error. With `fence`, each producer of rows ends with a fence that shows them to the
 * asynchronous proxy. `body` is the kernel's. */
Halide::Internal::Stmt lay_out_rows(CudaKernel &kernel, const Halide::Internal::Stmt &body,
                                    const std::vector<DescribedRows> &operands, bool fence);

} // namespace hconv
