#ifndef HCONV_CLI_NPY_H
#define HCONV_CLI_NPY_H

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace hconv::cli {

/** One array of a .npy file, its elements untouched. */
struct NpyArray {
  std::string descr;                ///< as written in the file, e.g. "<f4"
  char kind = 0;                    ///< 'f', 'i', 'u', 'b' (bool) or 'V' (raw bytes: bfloat16 of ml_dtypes)
  int item_bytes = 0;               ///< 1, 2, 4 or 8
  bool big_endian = false;          ///< byte order of the elements in `bytes`
  bool fortran_order = false;       ///< the first index runs fastest in `bytes`
  std::vector<int64_t> shape;       ///< outermost index first, whatever the order
  std::vector<unsigned char> bytes; ///< elements() * item_bytes

  int64_t elements() const;
};

/** Longest header that is read. numpy itself stops at 10000 bytes unless told otherwise. */
constexpr size_t npy_header_limit = 1024 * 1024;

/** Reads the first array of a .npy stream, format versions 1.0, 2.0 and 3.0; bytes after it are ignored, as numpy does.
 * Memory grows with what the stream really holds, not with what its header claims. `name` is the file's name for
 * messages. Throws Failure: EXIT_USAGE for what is not a whole .npy array, EXIT_UNSUPPORTED for element types outside
 * NpyArray::kind. */
NpyArray read_npy(std::istream &stream, const std::string &name);

/** The same for a file; EXIT_USAGE as well when it cannot be opened. `argument` names the option it came from. */
NpyArray read_npy_file(const std::string &path, const std::string &argument);

/** Writes a C-ordered array, format 1.0 as numpy writes it. `descr` is e.g. "<f4"; `data` holds `bytes` bytes in that
 * type. Throws Failure (EXIT_USAGE) when the stream does not take it. */
void write_npy(std::ostream &stream, const std::string &name, const std::string &descr,
               const std::vector<int64_t> &shape, const void *data, size_t bytes);

/** The same into a file, which is replaced. */
void write_npy_file(const std::string &path, const std::string &argument, const std::string &descr,
                    const std::vector<int64_t> &shape, const void *data, size_t bytes);

/** "(2, 3, 8, 8)", as numpy prints a shape; "(4,)" for one dimension. */
std::string shape_text(const std::vector<int64_t> &shape);

} // namespace hconv::cli
#endif
