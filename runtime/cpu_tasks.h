// How a call of a direct CPU variant is cut: into blocks of input channels, which decide how sums round, and into
// tasks, which decide nothing about the result; and the scratch memory that a task takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hconv/hconv.h"
#include "layout.h"
#include "variants.h"

namespace hconv::runtime {

/// Arguments of a direct CPU variant, all at least 1.
struct CpuTasks {
  int32_t block_ic = 1;                       ///< input channels of one partial sum; depends on the shape alone
  int32_t rows = 1, channels = 1, images = 1; ///< of a task's part of y
  int64_t height = 0,
          width = 0;      ///< of an image of y as the kernel sees it, and of x where each output is one of its pixels
  int64_t count = 0;      ///< of tasks
  int threads = 1;        ///< that share the tasks: 1 if the work is too small to wake another one
  int64_t task_bytes = 0; ///< of scratch memory that a task takes from the thread that computes it
};

/// Whether the kernel may take an image as any number of rows: 1x1 kernels without padding.
bool has_free_rows(const hconv_problem &problem);

/// For `threads` threads and the problem's whole batch, which one launch can compute.
CpuTasks cpu_tasks(const hconv_problem &problem, const Variant &variant, int threads);

/// Bytes of workspace: a piece for each thread, and room to align them. The minimum is 0: threads then allocate.
Workspace workspace_of(const CpuTasks &tasks);
/// Threads that `bytes` of workspace have pieces for; 0: each has to allocate its own.
int pieces_in(const CpuTasks &tasks, size_t bytes);

/// Microseconds that one core takes, from dispatch's cost and speeds measured on one processor. `product` is the
/// product kernel of a transform variant, else null.
double cpu_microseconds(const hconv_problem &problem, const Variant &variant, const Variant *product);

/// Work of which each thread that is woken should get at least so much.
constexpr double microseconds_worth_a_thread = 20;
/// Whether there is so much for two threads.
bool worth_threads(const hconv_problem &problem, const Variant &variant, const Variant *product);

} // namespace hconv::runtime
