#include "environment.h"

#include "hconv/hconv.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <forward_list>
#include <mutex>

namespace hconv::runtime {
namespace {

std::string value_of(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

LogLevel log_level(const std::string &level, const std::string &file) {
  if (level.empty()) // a log file alone asks for a log
    return file.empty() ? LogLevel::off : LogLevel::info;
  if (level == "error")
    return LogLevel::error;
  if (level == "debug")
    return LogLevel::debug;
  if (level == "off" || level == "0")
    return LogLevel::off;
  return LogLevel::info;
}

// A fault is kept for dispatch to report: an exception or a failure here would leave the library without an
// environment.
void read_tuned(Environment *e) {
  e->tuned_file = value_of("HCONV_TUNED_FILE");
  if (e->tuned_file.empty())
    return;
  auto table = std::make_shared<TunedTable>();
  e->tuned_fault = read_tuned_file(e->tuned_file, table.get());
  if (e->tuned_fault.empty())
    e->tuned = std::move(table);
}

// Old versions are kept for ever: other threads may still hold references to them.
struct Versions {
  std::mutex mutex;
  std::forward_list<Environment> all;
  std::atomic<const Environment *> current{nullptr};
};

Versions &versions() {
  static Versions &versions = *new Versions;
  return versions;
}

const Environment *read(bool again) {
  Versions &v = versions();
  std::lock_guard<std::mutex> lock(v.mutex);
  if (v.current.load() && !again)
    return v.current.load();
  Environment e;
  e.log_file = value_of("HCONV_LOG_FILE");
  e.log_level = log_level(value_of("HCONV_LOG"), e.log_file);
  e.device = value_of("HCONV_DEVICE");
  e.backend = value_of("HCONV_BACKEND");
  e.variant = value_of("HCONV_VARIANT");
  e.ask_tuned = value_of("HCONV_TUNED") != "0";
  if (e.ask_tuned)
    read_tuned(&e);
  const std::string check = value_of("HCONV_CHECK");
  e.check = !check.empty() && check != "0";
  e.num_threads = value_of("HCONV_NUM_THREADS");
  e.cuda_driver = value_of("HCONV_CUDA_DRIVER");
  v.all.push_front(std::move(e));
  v.current.store(&v.all.front(), std::memory_order_release);
  return &v.all.front();
}

} // namespace

const Environment &environment() {
  const Environment *current = versions().current.load(std::memory_order_acquire);
  return *(current ? current : read(false));
}

void reload_environment() {
  read(true);
}

} // namespace hconv::runtime

extern "C" void hconv_reload_environment(void) {
  hconv::runtime::reload_environment();
}
