// The environment variables of hconv, read once.
#pragma once

#include <memory>
#include <string>

#include "log.h"
#include "tuned_table.h"

namespace hconv::runtime {

struct Environment {
  LogLevel log_level = LogLevel::off;      ///< HCONV_LOG=error|info|debug
  std::string log_file;                    ///< HCONV_LOG_FILE: lines are appended there instead of stderr
  std::string device;                      ///< HCONV_DEVICE=cpu|cuda: the default of tools (hconv_default_device)
  std::string backend;                     ///< HCONV_BACKEND=cuda|halide_ptx: which kind of CUDA variants serves
  std::string variant;                     ///< HCONV_VARIANT: the only variant that may serve
  bool ask_tuned = true;                   ///< HCONV_TUNED=0: no table is asked, neither the compiled ones nor the next
  std::string tuned_file;                  ///< HCONV_TUNED_FILE: a tuned table that comes before the compiled ones
  std::string tuned_fault;                 ///< what is wrong with it, a sentence; "" if nothing is
  std::shared_ptr<const TunedTable> tuned; ///< its entries; null: it is not set or has a fault
  bool check = false;                      ///< HCONV_CHECK=1: compare every call with a float64 reference
  std::string num_threads;                 ///< HCONV_NUM_THREADS: threads of a CPU variant; empty: one a processor
  std::string cuda_driver;                 ///< HCONV_CUDA_DRIVER: file of the driver library, else libcuda.so.1
};

/// The environment as it was at the first call.
const Environment &environment();

/// Test hook: reads the environment again. Earlier references stay valid.
void reload_environment();

} // namespace hconv::runtime
