/** Generator transpose: x[B,R,C] -> y[B,C,R], which moves tensors between NCHW and NHWC, with H * W pixels as one of R
 * and C.
 *
 * Elements are moved as unsigned integers of their size, so one generator serves every type and NaNs keep their bits.
 */
#include "cuda_generator.h"
#include "schedules/gpu_loops.h"

using namespace Halide;

namespace {

class Transpose : public hconv::CudaGenerator<Transpose> {
public:
  GeneratorParam<int> bits{"bits", 32, 16, 32};

  Input<Buffer<void, 3>> x{"x"};  // x(c, r, b)
  Output<Buffer<void, 3>> y{"y"}; // y(r, c, b)

  void configure() {
    x.set_type(UInt(bits));
    y.set_type(UInt(bits));
  }

  void generate() {
    for (int d = 0; d < 3; d++) {
      x.dim(d).set_min(0);
      y.dim(d).set_min(0);
    }
    Expr C = x.dim(0).extent(), R = x.dim(1).extent();
    tile(c, r, b) = x(min(c, C - 1), min(r, R - 1), b);
    y(r, c, b) = tile(c, r, b);
    if (get_target().has_gpu_feature())
      on_gpu();
    else
      on_cpu();
  }

private:
  static constexpr int kTile = 32;                           // of the CPU
  static constexpr int kSquare = 64, kLanes = 32, kRows = 8; // a block of kLanes x kRows threads moves a square
  Var r{"r"}, c{"c"}, b{"b"};
  Func tile{"tile"};

  /** Both sides are read and written along rows; a square in shared memory, longer than it is wide by a bank, is what
   * turns. A thread has 16 elements under way, without which the loads' latency would decide. */
  void on_gpu() {
    Func out = y;
    Var r_block("r_block"), c_block("c_block"), half("half"), lane("lane"), row("row"), step("step");
    hconv::never_partition({out, tile});
    out.split(r, r_block, lane, kSquare, TailStrategy::GuardWithIf)
        .split(lane, half, lane, kLanes)
        .split(c, c_block, row, kSquare, TailStrategy::GuardWithIf)
        .split(row, step, row, kRows)
        .fuse(r_block, c_block, c_block)
        .fuse(c_block, b, b)
        .reorder(half, step, lane, row, b)
        .unroll(half)
        .gpu_threads(lane, row)
        .gpu_blocks(b);
    tile.bound_extent(c, kSquare)
        .bound_extent(r, kSquare)
        .bound_extent(b, 1)
        .compute_at(out, b)
        .store_in(MemoryType::GPUShared)
        .align_storage(c, kSquare + 32 / bits)
        .split(r, step, row, kRows)
        .split(c, half, lane, kLanes)
        .reorder(half, step, lane, row)
        .unroll(half)
        .unroll(step)
        .gpu_threads(lane, row);
  }

  void on_cpu() {
    Func out = y;
    Var r_block("r_block"), c_block("c_block");
    out.split(r, r_block, r, kTile, TailStrategy::GuardWithIf)
        .split(c, c_block, c, kTile, TailStrategy::GuardWithIf)
        .fuse(c_block, b, b)
        .reorder(r, c, r_block, b)
        .parallel(b);
  }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
