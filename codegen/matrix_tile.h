/** matrix_tile: what the passes for tensor cores share: a tile of a matrix product among plain loops, found and proved.
 */
#pragma once

#include "kernel_arrays.h"
#include <optional>

namespace hconv {

/** What a schedule asks for: the last names of the loops that make one tile of 16 rows, 8 columns and a sum of 16.
 * "" asks for nothing. */
struct TensorCoreRequest {
  std::string k;      // extent 16: the sum
  std::string m_half; // extent 2: rows m and m + 8
  std::string pair;   // extent 2: neighbouring columns
};

/** One operand of the tile: rows of 16 elements along k. */
struct TileOperand {
  const Halide::Internal::Load *load;
  Halide::Expr address;                             // the load's index, with all lets put in
  std::vector<const Halide::Internal::For *> loops; // over tiles; only this operand depends on them
};

/** A tile, with the loops' full names. */
struct MatrixTile {
  std::string k, m_half, pair;
  std::string accumulators; // array
  Halide::Expr accumulator; // index
  TileOperand a, b;         // of rows and columns
};

/** A user error that the requested loop cannot run on the tensor cores, unless ok. */
void check_tile(bool ok, const TensorCoreRequest &request, const std::string &why);

/** The tile whose outermost loop is `op`, proved; nothing where `op` is another loop. `lets` are those around it.
 *
 * Expected is what tensor_core.h describes, and proved are the ownership of lanes, rows that are dense along k, and for
 * each operand that its rows start at multiples of 8 elements. What looks like a tile and is none is a user error. */
std::optional<MatrixTile> matrix_tile(const Halide::Internal::For *op, const Lets &lets,
                                      const TensorCoreRequest &request);

/** e with the values of `lets` in place of their names, simplified. */
Halide::Expr with_lets(Halide::Expr e, const Lets &lets);

using Place = std::map<std::string, Halide::Expr>;

/** e with all variables of `place` replaced at once, simplified. */
Halide::Expr at(Halide::Expr e, const Place &place);

/** How far an address moves from one place to another; a user error where that is no constant. `what` names it. */
int64_t tile_distance(const Halide::Expr &address, const Place &from, const Place &to, const TensorCoreRequest &request,
                      const std::string &what);

/** The schedule's name of a loop: the last part of its full name. */
std::string last_name(const std::string &name);

/** How many tiles the loops make, and the number of one, the innermost loop's counting first. */
int tile_count(const std::vector<const Halide::Internal::For *> &loops);
Halide::Expr tile_number(const std::vector<const Halide::Internal::For *> &loops);

/** s inside the loops; the innermost one with another extent where that is not 0. */
Halide::Internal::Stmt in_tile_loops(Halide::Internal::Stmt s, const std::vector<const Halide::Internal::For *> &loops,
                                     int last_extent = 0);

/** ldmatrix of all of A's tiles into `fragments` from register `first` on: lane l gives row l % 8 of the 8x8 matrix
 * l / 8, which is (m_half, k half). `place` is A's. */
Halide::Internal::Stmt load_a_tiles(const MatrixTile &tile, const Halide::Expr &place, const std::string &fragments,
                                    const Halide::Expr &first);

} // namespace hconv
