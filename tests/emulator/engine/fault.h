// Turns SIGSEGV, SIGBUS, SIGILL and SIGFPE raised by a kernel into a launch failure.
#pragma once

#include "hconv_target.h"

#include <cstdint>

namespace hconv::emulator {

struct Fault {
  int signal;
  int code;          ///< si_code
  uintptr_t address; ///< si_addr; 0 where the processor does not tell
};

/// While one lives, faults of fibers that run on this host thread end in BlockRunner::leave_after_fault, on a stack of
/// the guard's own. Faults elsewhere go to the handlers that were there before.
class FaultGuard {
public:
  FaultGuard();
  ~FaultGuard();
  FaultGuard(const FaultGuard &) = delete;
  FaultGuard &operator=(const FaultGuard &) = delete;

private:
  struct State;
  State *state_;
};

} // namespace hconv::emulator
