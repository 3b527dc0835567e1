#include "log.h"

#include <cstdio>
#include <mutex>

namespace hconv::emulator {
namespace {

struct Log {
  std::mutex mutex;
  std::string last;
};

Log &log() {
  static Log *const instance = new Log; // never destroyed, see registry()
  return *instance;
}

} // namespace

void report(const std::string &text) {
  Log &l = log();
  const std::lock_guard<std::mutex> lock(l.mutex);
  l.last = text;
  std::fprintf(stderr, "hconv emulator: %s\n", text.c_str());
}

std::string last_message() {
  Log &l = log();
  const std::lock_guard<std::mutex> lock(l.mutex);
  return l.last;
}

void clear_last_message() {
  Log &l = log();
  const std::lock_guard<std::mutex> lock(l.mutex);
  l.last.clear();
}

} // namespace hconv::emulator
