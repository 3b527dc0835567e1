/** Builds .npy files byte by byte for the tests. */
#pragma once

#include "failure.h"
#include "npy.h"

#include <sstream>
#include <string>

namespace hconv_test {

/** A whole file: magic, version, length field of the version's width, header, data. */
inline std::string npy_file(int major, const std::string &header, const std::string &data) {
  std::string file = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return file + header + data;
}

inline std::string header_of(const std::string &descr, const std::string &order, const std::string &shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

inline hconv::cli::NpyArray read(const std::string &file) {
  std::istringstream stream(file);
  return hconv::cli::read_npy(stream, "file.npy");
}

/** The Failure of reading `file`: its exit code in front of its sentence; "read" where there is none. */
inline std::string failure_of(const std::string &file) {
  try {
    read(file);
    return "read";
  } catch (const hconv::cli::Failure &failure) {
    return std::to_string(failure.exit_code) + " " + failure.what();
  }
}

} // namespace hconv_test
