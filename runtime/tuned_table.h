// Tuned tables: which variant was measured to be the fastest for a problem. docs/tuned_tables.md has the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hconv/hconv.h"

namespace hconv::runtime {

/// One line of a table: a problem key, the variant that won, and what was measured.
struct TunedEntry {
  std::string device;    ///< "sm_90a", "cpu_avx512": problem.device says only whether it is CUDA
  hconv_problem problem; ///< on device 0
  std::string variant;   ///< of transform with a '+' and the name of its product kernel
  double ms = 0;         ///< median time of a run
  std::string date;      ///< YYYY-MM-DD
  int64_t runs = 0;      ///< timed runs
  int64_t threads = 0;   ///< that shared the work on a CPU; 0 on CUDA
  int64_t line = 0;      ///< in the file, from 1
};

struct TunedTable {
  std::string file; ///< as it is named in messages
  std::vector<TunedEntry> entries;
};

/// Reads a whole table, strictly. Returns "", or for the first fault "FILE:LINE: sentence" with what was found and what
/// is expected; *table then holds the entries before it. Never throws but for want of memory.
std::string parse_tuned_table(std::string_view text, const std::string &file, TunedTable *table);

/// "sm_90a f32 fp32 nchw 4,64,128,128,8,8,64,0,0,0,0": an entry's key as its line has it.
std::string key_of(const TunedEntry &entry);

/// Reads the file of HCONV_TUNED_FILE. Returns "" or a sentence that says what is wrong with it.
std::string read_tuned_file(const std::string &path, TunedTable *table);

/// The tables of schedules/tuned/ as they were when the library was built, perhaps none; parsed at the first call.
const std::vector<TunedTable> &compiled_tuned_tables();

} // namespace hconv::runtime
