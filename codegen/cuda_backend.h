/** hconv's own CUDA back end for the stock Halide: GPU loops -> CUDA C++ -> nvcc -> fatbin embedded in the object. */
#pragma once

#include "pipeline.h"
#include "tensor_core.h"
#include "warpgroup_mma.h"
#include <map>
#include <string>

namespace hconv {

struct CudaBackendOptions {
  std::string variant; // C identifier; prefixes kernel names and names the files written
  std::string out_dir; // receives <variant>.cu and <variant>.resources
  std::string nvcc;    // compiler's path
  std::string archs;   // "90a,ptx80": machine code for sm_90a and PTX of compute_80
  std::string prelude; // folders of hconv_prelude.cuh and hconv_target.h, separated by ':'
  int min_blocks = 1;  // blocks that must fit on one multiprocessor; bounds the registers of a thread
  PipelineRequest pipeline;
  TensorCoreRequest tensor_core;
  WarpgroupRequest warpgroup_mma;
  std::string quad_stores;           // the loop `pair` of the stores to widen; "": none
  int sum_steps = 0;                 // of the pipeline between two flushes of long sums; 0: never
  bool sum_only_long = false;        // BlockedSums::only_long
  bool addresses_first = false;      // select(c, x[i], 0) computes i in any case, so that many of them share its parts
  std::map<std::string, int> unroll; // factors by the schedule's loop names; register arrays' loops unroll fully anyway
};

/** The passes over one kernel, in order, up to layout_shared_memory. Files and the compiler are none of theirs. */
void run_passes(CudaKernel &kernel, const CudaBackendOptions &options);

/** Adds the back end to a pipeline that is about to be compiled for a target with CUDA. Only Pipelines take custom
 * lowering passes inside a Generator, hence no Func here. */
void install_cuda_backend(Halide::Pipeline &pipeline, const Halide::Target &target, const CudaBackendOptions &options);

} // namespace hconv
