/** quad_stores: stores of a tensor core's sums, 2 bytes a lane -> 16 bytes a lane, after an exchange between lanes. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Expects a kernel's body after vector_access, whose threadIdx.x runs over the 32 lanes of a warp, lane = 4 g + q,
 * with one nest of constant loops, lets and ifs around a single store of 16-bit floats to a buffer:
 *
 *     for ...: if ..: for pair in 2: if ..:  y[i] = T(sums[..] + ..)
 *
 * where `pair` is the loop's last name. A lane's elements lie in tiles of 8 x 8, two of each: row g, columns 2 q and
 * 2 q + 1. Either columns are neighbours in y (i moves by 1 with pair and by 2 with q) or rows are (by 1 with g), and
 * then the other index is free to move by anything. Of four tiles, four lanes exchange their parts so that each has 8
 * neighbours of one tile; before that, tiles whose rows are the neighbours are transposed. Each lane stores its 8 by as
 * wide stores as the address allows, and one by one where not all of them are to be stored.
 *
 * All lanes take part in an exchange, so the ifs around the store move inward: the stored value is computed for
 * elements that are not stored as well. What it loads from buffers must have an index that is limited by a minimum.
 *
 * Proved: how i moves, and that where the first and the last of 8 are to be stored, all are. A kernel without such a
 * nest is a compile error. */
Halide::Internal::Stmt quad_stores(const Halide::Internal::Stmt &body, const std::string &pair);

} // namespace hconv
