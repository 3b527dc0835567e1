#include "kernel_registry.h"

#include "log.h"

#include <map>
#include <mutex>

namespace hconv::emulator {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, Kernel> kernels;
};

Registry &registry() {
  // Never destroyed: a static destructor of the program may still launch.
  static Registry *const instance = new Registry;
  return *instance;
}

} // namespace

const Kernel *find_kernel(const std::string &name) {
  Registry &r = registry();
  const std::lock_guard<std::mutex> lock(r.mutex);
  const auto found = r.kernels.find(name);
  return found == r.kernels.end() ? nullptr : &found->second;
}

} // namespace hconv::emulator

namespace hconv::twin {

bool register_kernel_entry(const char *name, void (*function)(), Thunk thunk, const ArgumentType *arguments,
                           int argument_count) {
  emulator::Registry &r = emulator::registry();
  const std::lock_guard<std::mutex> lock(r.mutex);
  const bool is_new =
      r.kernels.emplace(name, emulator::Kernel{name, function, thunk, arguments, argument_count}).second;
  if (!is_new)
    emulator::report(std::string("two kernels are called ") + name + "; the first one is used");
  return true;
}

} // namespace hconv::twin
