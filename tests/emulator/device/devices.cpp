#include "devices.h"

#include <memory>
#include <vector>

namespace hconv::emulator {
namespace {

struct Devices {
  std::mutex mutex;
  std::vector<std::unique_ptr<Arena>> arenas;
};

Devices &devices() {
  static Devices *const instance = new Devices; // never destroyed: static destructors may still free device memory
  return *instance;
}

} // namespace

Arena &arena_of(int device) {
  Devices &d = devices();
  const std::lock_guard<std::mutex> lock(d.mutex);
  while (d.arenas.size() <= static_cast<size_t>(device))
    d.arenas.push_back(std::make_unique<Arena>(static_cast<int>(d.arenas.size())));
  return *d.arenas[static_cast<size_t>(device)];
}

int device_of(uintptr_t address) {
  Devices &d = devices();
  const std::lock_guard<std::mutex> lock(d.mutex);
  for (size_t i = 0; i < d.arenas.size(); ++i) {
    if (d.arenas[i]->owns(address))
      return static_cast<int>(i);
  }
  return -1;
}

std::string describe_device_address(uintptr_t address) {
  const int device = device_of(address);
  return device < 0 ? std::string() : arena_of(device).describe(address);
}

} // namespace hconv::emulator
