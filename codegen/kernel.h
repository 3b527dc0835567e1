/** One GPU loop nest on its way from Halide's IR to CUDA. */
#pragma once

#include "Halide.h"
#include <map>
#include <string>
#include <vector>

namespace hconv {

/** Names that stand for the hardware's indices in a kernel's body once its GPU loops are gone. */
extern const char *const kThreadIndex[3]; // "threadIdx.x", ...
extern const char *const kBlockIndex[3];  // "blockIdx.x", ...

/** Name of the call that stands for the address of its argument, a scalar Load. */
constexpr const char *kAddressOf = "hconv::address_of";

/** An argument of the kernel: a buffer's device pointer or a scalar, by its name in the IR. */
struct KernelArgument {
  std::string name;
  Halide::Type type; // of the elements, for a buffer
  bool is_buffer = false;
  bool written = false;
};

struct CudaKernel {
  std::string name;                            // of the __global__ function
  Halide::Internal::Stmt body;                 // without the GPU loops
  std::vector<KernelArgument> arguments;       // in order
  Halide::Expr grid[3];                        // blocks, evaluated on the host
  int block[3] = {1, 1, 1};                    // threads
  std::string index_label[2][3];               // what the schedule called threadIdx.{x,y,z} and blockIdx.{x,y,z}
  int shared_bytes = 0;                        // dynamic shared memory; set by layout_shared_memory
  std::map<std::string, int> shared_alignment; // bytes, of arrays that need more than 128
  int min_blocks = 1;                          // of __launch_bounds__
  std::map<std::string, int> unroll;           // factors that the schedule asks for, by the loop's last name
  bool addresses_first = false;                // of guarded loads: see CudaBackendOptions

  int threads() const { return block[0] * block[1] * block[2]; }
};

} // namespace hconv
