/** nvcc: CUDA C++ text -> fatbin, by the compiler as a child process. */
#pragma once

#include <string>
#include <vector>

namespace hconv {

struct NvccJob {
  std::string compiler;              // path of nvcc
  std::string source;                // path of the .cu file
  std::vector<std::string> includes; // folders
  std::string archs;                 // "90a,ptx80": see CudaBackendOptions
};

/** What ptxas says of one kernel on one architecture. */
struct KernelResources {
  std::string kernel, arch; // "90a"
  int registers = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  int stack_bytes = 0; // local memory: spills and arrays that did not fit into registers
};

struct NvccResult {
  std::string fatbin; // the image's bytes
  std::vector<KernelResources> resources;
};

/** Compiles to NAME.fatbin and NAME.nvcc.log beside NAME.cu, the source. When the environment names a folder in
 * HCONV_NVCC_CACHE, results are kept there under a key of the source, the headers, the flags and the compiler's
 * version; a result appears by an atomic rename. Failure is a Halide compile error with the compiler's own text. */
NvccResult run_nvcc(const NvccJob &job);

/** Reads the resources out of the text of `ptxas -v`. */
std::vector<KernelResources> parse_ptxas(const std::string &text);

/** Splits at a separator, without empty parts. */
std::vector<std::string> split(const std::string &text, char separator);

} // namespace hconv
