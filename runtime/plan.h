// A plan: one accepted problem, the variant that computes it, and on CUDA the context that its kernels are loaded in.
#pragma once

#include <string>

#include "cuda/context.h"
#include "dispatch.h"
#include "layout.h"
#include "problem.h"
#include "run_context.h"
#include "thread_pool.h"
#include "transform.h"

struct hconv_plan {
  hconv_problem problem;
  hconv::runtime::Geometry geometry;
  std::string name; ///< of the variant, and behind a '+' its product's, or the number of its parts
  const hconv::runtime::Variant *variant;
  const hconv::runtime::Variant *pack;       ///< null: of transform
  const hconv::runtime::Variant *pack_input; ///< null: the variant reads x itself
  const hconv::runtime::Variant *product;    ///< null: not of transform
  const hconv::runtime::Variant *transpose;  ///< null: none is compiled, and none needed
  hconv::runtime::Conversion conversion;     ///< of x and y, by `transpose`
  const hconv::runtime::Variant *sum_parts;  ///< null: not split
  int64_t parts;                             ///< 0: not split
  hconv::runtime::PackedExtents packed;      ///< not of transform
  hconv::runtime::PackedInput input;
  hconv::runtime::TransformLayout transform; ///< only of transform
  size_t packed_bytes;
  size_t workspace_bytes, minimum_workspace_bytes;
  hconv::runtime::ThreadPool pool; ///< only on the CPU
  hconv::runtime::CpuTasks tasks;  ///< of a direct CPU variant; of others on the CPU only the threads
  int64_t launch_batch;            ///< images of one launch, so that each launch stays below 2^31 elements
  hconv::runtime::cuda::ContextRef context;

  hconv_plan() = default;
  hconv_plan(const hconv_plan &) = delete;
  hconv_plan &operator=(const hconv_plan &) = delete;
  ~hconv_plan() { hconv::runtime::cuda::release_context(&context); }

  bool on_cuda() const { return hconv::runtime::raw(problem.device.device_type) == kDLCUDA; }
  bool cuts_tasks() const { return !on_cuda() && variant->algorithm == hconv::runtime::Algorithm::direct; }
};

namespace hconv::runtime {

struct Scratch {
  void *address;
  size_t bytes;
};

/// w as the caller has it: row-major, or with IC innermost.
struct Weights {
  const void *address;
  bool channels_last;
};

/// Calls the plan's functions on addresses that have been checked; device addresses on CUDA, whose context is current.
/// call_conv brings x and y from and to the layout of the problem, with the conversion's bytes in front of the
/// workspace, and packs x into the workspace first where the variant wants it so, and the packed input of `batch`
/// images fits; a transform variant goes over as many chunks of tiles as the workspace makes it.
hconv_status call_pack(const hconv_plan &plan, RunContext *run, Weights w, void *packed);
/// x[batch, rows, columns] -> y[batch, columns, rows], elements of the problem's type.
hconv_status call_transpose(const hconv_plan &plan, RunContext *run, const void *x, void *y, int64_t rows,
                            int64_t columns, int64_t batch);
hconv_status call_pack_input(const hconv_plan &plan, RunContext *run, const void *x, void *workspace, int64_t batch);
hconv_status call_conv(const hconv_plan &plan, RunContext *run, const void *x, const void *packed, const void *bias,
                       void *y, Scratch workspace, int64_t batch);
/// The parts of the above that are transform variants'.
hconv_status call_transform_weights(const hconv_plan &plan, RunContext *run, const void *w, void *packed);
hconv_status call_transform(const hconv_plan &plan, RunContext *run, const void *x, const void *packed,
                            const void *bias, void *y, Scratch workspace, int64_t batch);

/// HCONV_CHECK=1: waits for the stream and compares y with a float64 reference; packed weights with w.
hconv_status check_result(const hconv_plan &plan, const DLTensor &x, const void *packed, const DLTensor *bias,
                          const DLTensor &y, void *stream);
hconv_status check_packed_weights(const hconv_plan &plan, const DLTensor &w, const void *packed, void *stream);

} // namespace hconv::runtime
