/** warpgroup_operand: proves that a wgmma can read the columns of a tile, or its rows, through a descriptor. */
#pragma once

#include "matrix_tile.h"
#include "operand_layout.h"

namespace hconv {

/** B of a warpgroup's tile: how its columns, which are rows of the array, are shared out to instructions. */
struct WarpgroupColumns {
  DescribedRows rows;
  Halide::Expr first;                               // index of the first column's first element, in the array
  std::vector<const Halide::Internal::For *> inner; // loops over 8 columns of one instruction
  std::vector<const Halide::Internal::For *> outer; // loops over instructions
  std::map<std::string, int64_t> rows_apart;        // of the outer loops' steps

  int columns() const { return 8 * tile_count(inner); } // of one instruction
};

/** A of a warpgroup's tile, where it is read by descriptor, too: 64 rows of an instruction, 16 of each warp. */
struct WarpgroupRows {
  DescribedRows rows;
  Halide::Expr first;                        // index of the warpgroup's first row's first element, in the array
  std::map<std::string, int64_t> rows_apart; // of the steps of the loops over tiles
};

/** Where column n of an instruction lies: values of the lane, the pair and the inner loops. */
Place column_place(const MatrixTile &tile, const std::vector<const Halide::Internal::For *> &inner, int n);

/** What a proof needs besides the tile. */
struct WarpgroupNest {
  const CudaKernel &kernel;
  const TensorCoreRequest &request;
  const Halide::Internal::Scope<Halide::Internal::Interval> &ranges; // of thread indices and constant loops around
  std::string step;                                                  // loop over steps of 16, by its full name
  int steps;
};

/** Proves of B, besides what matrix_tile has: it is the same in the four warps threadIdx.y = 4 w ... 4 w + 3; its
 * columns lie in rows of 16, 32 or 64 elements that hold all steps, 8 neighbours one behind the other; and groups of 8
 * are evenly apart along as many of the innermost loops as one instruction can take. Where every group starts at a
 * multiple of 8 rows and follows the one before it, the rows are to be swizzled. What fails is a user error. */
WarpgroupColumns warpgroup_columns(const MatrixTile &tile, const WarpgroupNest &nest);

/** The same of A, whose groups of 8 are m_half 0 and 1 of the warps threadIdx.y = 4 w ... 4 w + 3, in this order: these
 * 8 groups must be evenly apart. */
WarpgroupRows warpgroup_rows(const MatrixTile &tile, const WarpgroupNest &nest);

} // namespace hconv
