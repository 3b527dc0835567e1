/** Temporary folders and programs, for tests that compile and run what the back end prints. */
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hconv_test {

/** A fresh folder that goes away with the object. */
class Folder {
public:
  explicit Folder(const std::string &name = "hconv");
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string path(const std::string &file = "") const { return file.empty() ? folder : folder + "/" + file; }

private:
  std::string folder;
};

struct Ended {
  int status = -1; // exit status, or 128 + signal
  std::string output;
};

/** Runs a program without a shell. */
Ended run_program(const std::vector<std::string> &argv);

/** The test's C++ compiler with the host twin's prelude on its include path, and then the given arguments. */
Ended run_host_compiler(const std::vector<std::string> &arguments);

std::string read_file(const std::string &path);
void write_file(const std::string &path, const std::string &text);

} // namespace hconv_test
