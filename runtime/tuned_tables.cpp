// Where tuned tables come from: the build, and the file that HCONV_TUNED_FILE names.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.h"
#include "tuned_table.h"

namespace hconv::runtime {
namespace {

/// Some 100,000 entries; keeps a mistaken path, say of a device, from filling the memory.
constexpr size_t file_limit = size_t{16} << 20;

struct CompiledTable {
  const char *file, *text;
};
// cmake/embed_tuned_tables.cpp writes the rows, after it has checked them. The first one keeps the array legal.
#define HCONV_TUNED_TABLE(file, text) {file, text},
constexpr CompiledTable compiled[] = {
    {nullptr, nullptr},
#include "tuned_tables.inc"
};
#undef HCONV_TUNED_TABLE

std::string reason_of(int error) {
  return error ? std::strerror(error) : "no reason given";
}

} // namespace

const std::vector<TunedTable> &compiled_tuned_tables() {
  // Never destroyed: static destructors may still make plans.
  static const std::vector<TunedTable> &tables = *[] {
    auto *all = new std::vector<TunedTable>;
    for (const CompiledTable &row : compiled) {
      TunedTable table;
      if (row.file && parse_tuned_table(row.text, row.file, &table).empty())
        all->push_back(std::move(table));
    }
    return all;
  }();
  return tables;
}

std::string read_tuned_file(const std::string &path, TunedTable *table) {
  const char *name = path.c_str();
  errno = 0;
  FILE *file = std::fopen(name, "rb");
  if (!file)
    return text("HCONV_TUNED_FILE is '%s', which cannot be opened (%s); expected a tuned table.", name,
                reason_of(errno).c_str());
  std::string content;
  char block[4096];
  errno = 0;
  while (const size_t read = std::fread(block, 1, sizeof block, file)) {
    content.append(block, read);
    if (content.size() > file_limit)
      break;
  }
  const int error = std::ferror(file) ? errno : 0;
  const bool failed = std::ferror(file) != 0;
  std::fclose(file);
  if (failed)
    return text("HCONV_TUNED_FILE is '%s', which cannot be read (%s); expected a tuned table.", name,
                reason_of(error).c_str());
  if (content.size() > file_limit)
    return text("HCONV_TUNED_FILE is '%s', which has more than %zu bytes; expected a tuned table.", name, file_limit);
  const std::string fault = parse_tuned_table(content, path, table);
  return fault.empty() ? "" : "HCONV_TUNED_FILE: " + fault;
}

} // namespace hconv::runtime
