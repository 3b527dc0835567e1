// The one function that generated host code calls to run a CUDA kernel.
#pragma once

#include <cstdint>

extern "C" {

/// Launches `kernel_name` of `fatbin` on the stream of the RunContext behind `user_context`, whose context is current.
/// The first launch in a context loads the module (or RunContext::load_only does it alone); all later ones take no
/// lock, allocate nothing and look nothing up by name.
///
/// `state` is a zero-initialised pointer that belongs to this kernel. arguments[i] points at a scalar, or, where bit i
/// of buffer_mask is set, at a halide_buffer_t whose `device` is the kernel's argument; at most 64 arguments. Grid and
/// block extents are counts of blocks and threads, shared_bytes is dynamic shared memory. Returns 0, or nonzero after
/// the failure has been reported to the RunContext.
int hconv_cuda_launch(const void *user_context, void **state, const uint8_t *fatbin, const char *kernel_name,
                      int32_t grid_x, int32_t grid_y, int32_t grid_z, int32_t block_x, int32_t block_y, int32_t block_z,
                      int32_t shared_bytes, int32_t argument_count, void **arguments, uint64_t buffer_mask);
}
