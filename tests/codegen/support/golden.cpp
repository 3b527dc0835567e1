#include "golden.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <vector>

namespace hconv_test {

namespace {

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

/** The first lines that differ, with their number. */
std::string difference(const std::string &expected, const std::string &found) {
  const auto a = lines_of(expected), b = lines_of(found);
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i])
    i++;
  auto line = [&](const std::vector<std::string> &lines) { return i < lines.size() ? lines[i] : "(end of text)"; };
  return "line " + std::to_string(i + 1) + ", golden:\n" + line(a) + "\nfound:\n" + line(b);
}

} // namespace

std::string golden_folder() {
  return HCONV_GOLDEN_DIR;
}

void expect_golden(const std::string &text, const std::string &extension) {
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = golden_folder() + "/" + test->test_suite_name() + "." + test->name() + "." + extension;
  const char *update = std::getenv("HCONV_UPDATE_GOLDEN");
  if (update && std::strcmp(update, "1") == 0) {
    if (!testing::Test::HasFailure() && !(std::ofstream(path) << text))
      ADD_FAILURE() << "cannot write " << path;
    return;
  }
  std::ifstream in(path);
  ASSERT_TRUE(in) << "golden file " << path << " is missing; write it with HCONV_UPDATE_GOLDEN=1. The text is\n"
                  << text;
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  if (golden != text)
    ADD_FAILURE() << "differs from " << path << " at " << difference(golden, text)
                  << "\nIf it is meant to, rewrite it with HCONV_UPDATE_GOLDEN=1. The whole text is\n"
                  << text;
}

} // namespace hconv_test
