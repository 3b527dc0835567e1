/** kernel_launch: takes a GPU loop nest out of the host's IR and puts a launch in its place. */
#pragma once

#include "kernel.h"

namespace hconv {

/** Names and values of the lets around a statement, outermost first. */
using HostLets = std::vector<std::pair<std::string, Halide::Expr>>;

/** Turns a For nest of gpu_block and gpu_thread loops (after Halide's fuse_gpu_thread_loops: every loop starts at 0,
 * all thread loops are one nest) into a kernel. Blocks may have any extent that the host can compute; the threads'
 * extents must be constants, at most 1024 threads in all. The body refers to kThreadIndex and kBlockIndex instead of
 * the loops' variables. A kernel with more than 64 arguments computes those of `lets` itself that it can. */
CudaKernel extract_kernel(const Halide::Internal::For *nest, const std::string &name, const HostLets &lets = {});

/** Gives each GPUShared allocation its place in one dynamic shared memory block (1024-byte aligned, each allocation at
 * a multiple of 128 bytes or of its shared_alignment) and sets kernel.shared_bytes. The offset in bytes becomes the
 * allocation's new_expr, an IntImm. More than 227 KiB is a compile error. */
void layout_shared_memory(CudaKernel &kernel);

/** The host's call of hconv_cuda_launch for a kernel, checked for a nonzero return.
 * `fatbin` is an expression of the image's address; `target` tells whether there is a user context. */
Halide::Internal::Stmt make_launch(const CudaKernel &kernel, const Halide::Expr &fatbin, const Halide::Target &target);

/** Removes Halide's copies between host and device and its dirty flags: the caller's buffers are on the device. A stage
 * that the host computes, or a buffer that the pipeline would allocate on the device, is a compile error. */
Halide::Internal::Stmt remove_device_copies(const Halide::Internal::Stmt &host);

} // namespace hconv
