// Kernels known by name: filled by HCONV_REGISTER_KERNEL in each generated file, read by cuModuleGetFunction.
#pragma once

#include "hconv_target.h"

#include <string>

namespace hconv::emulator {

struct Kernel {
  const char *name;
  void (*function)();
  twin::Thunk thunk;
  const twin::ArgumentType *arguments;
  int argument_count;
};

/// Null when no kernel of this name was linked in. The pointer stays valid for the life of the process.
const Kernel *find_kernel(const std::string &name);

} // namespace hconv::emulator
