#include "npy.h"

#include "failure.h"
#include "npy_header.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace hconv::cli {

namespace {

constexpr unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/** Reads up to `size` bytes; grows `to` by what is there, in steps that a false size cannot turn into a huge
 * allocation. */
size_t read_up_to(std::istream &stream, std::vector<unsigned char> &to, size_t size) {
  size_t have = 0;
  while (have < size) {
    const size_t step = std::min(size - have, std::max<size_t>(have, 1 << 20));
    to.resize(have + step);
    stream.read(reinterpret_cast<char *>(to.data() + have), static_cast<std::streamsize>(step));
    const size_t got = static_cast<size_t>(stream.gcount());
    have += got;
    if (got < step) {
      break;
    }
  }
  to.resize(have);
  return have;
}

[[noreturn]] void fail_truncated(const std::string &name, const std::string &part, size_t have, size_t expected) {
  throw Failure(EXIT_USAGE, name + ": the file ends inside " + part + ": " + std::to_string(have) +
                                " bytes found, expected " + std::to_string(expected) + ".");
}

} // namespace

int64_t NpyArray::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    product *= extent;
  }
  return product;
}

std::string shape_text(const std::vector<int64_t> &shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

NpyArray read_npy(std::istream &stream, const std::string &name) {
  std::vector<unsigned char> start;
  if (read_up_to(stream, start, 8) < 6 || !std::equal(magic, magic + 6, start.begin())) {
    throw Failure(EXIT_USAGE, name +
                                  ": not a .npy file: it does not start with \\x93NUMPY; expected an array written by "
                                  "numpy.save.");
  }
  if (start.size() < 8) {
    fail_truncated(name, "its version number", start.size(), 8);
  }
  const int major = start[6], minor = start[7];
  if (major < 1 || major > 3 || minor != 0) {
    throw Failure(EXIT_UNSUPPORTED, name + ": .npy format version " + std::to_string(major) + "." +
                                        std::to_string(minor) + " is not supported; expected 1.0, 2.0 or 3.0.");
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  std::vector<unsigned char> length_field;
  if (read_up_to(stream, length_field, length_bytes) < length_bytes) {
    fail_truncated(name, "the header's length", length_field.size(), length_bytes);
  }
  size_t header_bytes = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | length_field[i];
  }
  if (header_bytes > npy_header_limit) {
    throw Failure(EXIT_USAGE, name + ": the header claims " + std::to_string(header_bytes) +
                                  " bytes; expected at most " + std::to_string(npy_header_limit) + ".");
  }
  std::vector<unsigned char> header;
  if (read_up_to(stream, header, header_bytes) < header_bytes) {
    fail_truncated(name, "the header", header.size(), header_bytes);
  }
  NpyArray array = parse_npy_header(std::string(header.begin(), header.end()), name);
  const size_t data_bytes = static_cast<size_t>(array.elements()) * static_cast<size_t>(array.item_bytes);
  if (read_up_to(stream, array.bytes, data_bytes) < data_bytes) {
    fail_truncated(name, "the data of shape " + shape_text(array.shape) + ", type '" + array.descr + "'",
                   array.bytes.size(), data_bytes);
  }
  return array;
}

NpyArray read_npy_file(const std::string &path, const std::string &argument) {
  const std::string name = argument + " " + path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Failure(EXIT_USAGE, name + ": is a folder; expected a .npy file.");
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw Failure(EXIT_USAGE,
                  name + ": cannot be opened (" + std::strerror(errno) + "); expected a readable .npy file.");
  }
  return read_npy(stream, name);
}

void write_npy(std::ostream &stream, const std::string &name, const std::string &descr,
               const std::vector<int64_t> &shape, const void *data, size_t bytes) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  // The data starts at a multiple of 64, so that a reader may map it; the last byte of the padding is a newline.
  const size_t before = sizeof(magic) + 2 + 2;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  stream.write(reinterpret_cast<const char *>(magic), sizeof(magic));
  const char fields[4] = {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  stream.write(fields, sizeof(fields));
  stream.write(header.data(), static_cast<std::streamsize>(header.size()));
  stream.write(static_cast<const char *>(data), static_cast<std::streamsize>(bytes));
  stream.flush();
  if (!stream) {
    throw Failure(EXIT_USAGE, name + ": writing failed, the file is incomplete; expected room for " +
                                  std::to_string(before + header.size() + bytes) + " bytes.");
  }
}

void write_npy_file(const std::string &path, const std::string &argument, const std::string &descr,
                    const std::vector<int64_t> &shape, const void *data, size_t bytes) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!stream) {
    throw Failure(EXIT_USAGE, argument + " " + path + ": cannot be written (" + std::strerror(errno) +
                                  "); expected a writable path.");
  }
  write_npy(stream, argument + " " + path, descr, shape, data, bytes);
}

} // namespace hconv::cli
