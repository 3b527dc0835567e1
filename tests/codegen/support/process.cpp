#include "process.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace hconv_test {

Folder::Folder(const std::string &name) {
  folder = (std::filesystem::temp_directory_path() / (name + ".XXXXXX")).string();
  EXPECT_NE(mkdtemp(folder.data()), nullptr) << folder << ": " << strerror(errno);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

Ended run_program(const std::vector<std::string> &argv) {
  std::vector<char *> pointers;
  for (const std::string &a : argv)
    pointers.push_back(const_cast<char *>(a.c_str()));
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0)
    return {-1, "pipe failed"};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Ended ended;
  if (error != 0) {
    ended.output = argv[0] + ": " + strerror(error);
  } else {
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
      ended.output.append(buffer, size_t(n));
    int status = 0;
    waitpid(child, &status, 0);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(ends[0]);
  return ended;
}

Ended run_host_compiler(const std::vector<std::string> &arguments) {
  std::vector<std::string> argv = {HCONV_CXX, "-std=c++17"};
  std::istringstream folders(HCONV_TWIN);
  for (std::string folder; std::getline(folders, folder, ':');)
    argv.push_back("-I" + folder);
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_program(argv);
}

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string &path, const std::string &text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  EXPECT_TRUE(out) << "cannot write " << path;
}

} // namespace hconv_test
