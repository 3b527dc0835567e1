#include "settings.h"

#include "log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace hconv::emulator {
namespace {

std::string text_of(const char *name) {
  const char *const value = std::getenv(name);
  return value ? value : "";
}

/// A bad value is reported and the default kept: a test run should not silently use something else.
void read_number(const char *name, long long low, long long high, long long *out) {
  const std::string text = text_of(name);
  if (text.empty())
    return;
  char *end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (*end != '\0' || value < low || value > high) {
    report(std::string(name) + " is \"" + text + "\", expected a whole number from " + std::to_string(low) + " to " +
           std::to_string(high) + "; " + std::to_string(*out) + " is used");
    return;
  }
  *out = value;
}

template <typename Value>
void read_choice(const char *name, std::initializer_list<std::pair<const char *, Value>> choices, Value *out) {
  const std::string text = text_of(name);
  if (text.empty())
    return;
  std::string expected;
  for (const auto &[word, value] : choices) {
    if (text == word) {
      *out = value;
      return;
    }
    expected += (expected.empty() ? "" : " or ") + std::string(word);
  }
  report(std::string(name) + " is \"" + text + "\", expected " + expected + "; the default is used");
}

Settings read_environment() {
  Settings s;
  long long devices = s.devices, threads = std::max(1u, std::thread::hardware_concurrency()), seed = 1;
  long long megabytes = static_cast<long long>(s.device_memory >> 20), alignment = 256;
  read_number("HCONV_EMULATOR_DEVICES", 0, 64, &devices);
  read_number("HCONV_EMULATOR_THREADS", 1, 256, &threads);
  read_number("HCONV_EMULATOR_SEED", 0, INT64_MAX, &seed);
  read_number("HCONV_EMULATOR_MEMORY_MB", 1, 1 << 20, &megabytes);
  read_number("HCONV_EMULATOR_ALIGNMENT", 16, 4096, &alignment);
  if (alignment & (alignment - 1)) {
    report("HCONV_EMULATOR_ALIGNMENT is " + std::to_string(alignment) + ", expected a power of two; 256 is used");
    alignment = 256;
  }
  s.devices = static_cast<int>(devices);
  s.threads = static_cast<int>(threads);
  s.seed = static_cast<uint64_t>(seed);
  s.device_memory = static_cast<size_t>(megabytes) << 20;
  s.allocation_alignment = static_cast<size_t>(alignment);
  read_choice("HCONV_EMULATOR_CP_ASYNC",
              {{"mixed", CopyTiming::mixed}, {"early", CopyTiming::early}, {"late", CopyTiming::late}}, &s.copy_timing);
  read_choice("HCONV_EMULATOR_STREAMS", {{"eager", false}, {"lazy", true}}, &s.lazy_streams);
  const std::string capability = text_of("HCONV_EMULATOR_CAPABILITY");
  if (!capability.empty()) {
    int major = 0, minor = 0, used = 0;
    if (std::sscanf(capability.c_str(), "%d.%d%n", &major, &minor, &used) == 2 && capability[used] == '\0' &&
        major > 0 && minor >= 0 && minor < 10) {
      s.capability_major = major;
      s.capability_minor = minor;
    } else {
      report("HCONV_EMULATOR_CAPABILITY is \"" + capability + "\", expected such as 8.6; 9.0 is used");
    }
  }
  return s;
}

std::mutex settings_mutex;
std::optional<Settings> current_settings;

} // namespace

Settings settings() {
  const std::lock_guard<std::mutex> lock(settings_mutex);
  if (!current_settings)
    current_settings = read_environment();
  return *current_settings;
}

void reload_settings() {
  Settings fresh = read_environment();
  const std::lock_guard<std::mutex> lock(settings_mutex);
  if (current_settings)
    fresh.devices = current_settings->devices; // devices that are in use cannot come or go
  current_settings = fresh;
}

} // namespace hconv::emulator
