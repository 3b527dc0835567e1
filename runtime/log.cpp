#include "log.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "environment.h"

namespace hconv::runtime {
namespace {

std::mutex &log_mutex() {
  static std::mutex &mutex = *new std::mutex; // never destroyed: static destructors may still log
  return mutex;
}

const char *level_text(LogLevel level) {
  return level == LogLevel::error ? "error" : level == LogLevel::info ? "info" : "debug";
}

// Opened for each line: logging is rare, and so no handle outlives a fork or keeps a rotated file alive.
void write_line(const std::string &file, const char *line) {
  std::lock_guard<std::mutex> lock(log_mutex());
  FILE *out = file.empty() ? nullptr : std::fopen(file.c_str(), "a");
  std::fputs(line, out ? out : stderr);
  if (out)
    std::fclose(out);
}

} // namespace

bool log_enabled(LogLevel level) {
  return level <= environment().log_level;
}

void log(LogLevel level, const char *format, ...) {
  if (!log_enabled(level))
    return;
  char line[2048];
  int used = std::snprintf(line, sizeof line, "hconv %s: ", level_text(level));
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + used, sizeof line - used - 1, format, arguments);
  va_end(arguments);
  std::string text(line);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  write_line(environment().log_file, (text + "\n").c_str());
}

} // namespace hconv::runtime
