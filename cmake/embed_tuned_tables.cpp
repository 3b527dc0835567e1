// embed_tuned_tables OUT.inc [NAME=FILE ...]: checks tuned tables with the library's own parser and writes them as rows
// HCONV_TUNED_TABLE("NAME", "text"). A table with a fault ends the build with `FILE:LINE: sentence`.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "runtime/tuned_table.h"

namespace {

bool read(const std::string &path, std::string *content) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  *content = stream.str();
  return static_cast<bool>(file);
}

/// The entries as string literals, one a line: comments and blank lines stay behind, and so line numbers are kept by
/// empty lines.
std::string literals(const std::string &content) {
  std::stringstream lines(content);
  std::string line, result;
  while (std::getline(lines, line)) {
    const bool entry = !line.empty() && line[0] != '#' && line.find_first_not_of(" \t") != line.npos;
    result += "\n  \"" + (entry ? line : "") + "\\n\""; // a sound entry has no character that needs escaping
  }
  return result.empty() ? " \"\"" : result;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "embed_tuned_tables: OUT.inc is missing\n";
    return 2;
  }
  std::string rows = "// HCONV_TUNED_TABLE(file, text): the tables of schedules/tuned/\n";
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals),
                      path = equals == argument.npos ? "" : argument.substr(equals + 1);
    std::string content;
    if (!read(path, &content)) {
      std::cerr << path << ":1: The file cannot be read.\n";
      return 1;
    }
    hconv::runtime::TunedTable table;
    const std::string fault = hconv::runtime::parse_tuned_table(content, path, &table);
    if (!fault.empty()) {
      std::cerr << fault << "\n";
      return 1;
    }
    const std::string device = name.substr(name.rfind('/') + 1);
    if (!table.entries.empty() && device != table.entries[0].device + ".txt") {
      std::cerr << path << ":" << table.entries[0].line << ": The device is '" << table.entries[0].device
                << "'; expected the one that the file is named after.\n";
      return 1;
    }
    rows += "HCONV_TUNED_TABLE(\"" + name + "\"," + literals(content) + ")\n";
  }
  std::ofstream out(argv[1], std::ios::binary);
  out << rows;
  out.close();
  if (!out) {
    std::cerr << argv[1] << ": The file cannot be written.\n";
    return 1;
  }
  return 0;
}
