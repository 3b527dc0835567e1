// What this process has to compute with: dispatch depends on nothing else of the machine.
#pragma once

#include <cstdint>
#include <string>

#include "hconv/hconv.h"

namespace hconv::runtime {

struct Machine {
  bool avx2 = false;                  ///< AVX2, FMA and F16C
  bool avx512 = false;                ///< AVX-512 F, CD, BW, DQ and VL besides
  int64_t shared_bytes_per_block = 0; ///< largest dynamic shared memory of a CUDA block; 0: not known
  int capability = 90;                ///< of the CUDA device, 90 for 9.0; an H200's where there is none
  int threads = 1;                    ///< that share a CPU variant's work
  int multiprocessors = 132;          ///< of the CUDA device; an H200's where there is none
};

/// The processor, and for a CUDA device that is present its limits. `threads` are those of the pool that a CPU variant
/// would compute with.
Machine machine_of(DLDevice device, int threads = 1);

/// "NVIDIA H200", "AMD EPYC ..."; a status with a sentence for a device that is not there.
hconv_status device_name(DLDevice device, std::string *name);

} // namespace hconv::runtime
