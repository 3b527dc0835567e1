#include "fault.h"

#include "block_runner.h"
#include "sanitizer.h"

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <ucontext.h>

namespace hconv::emulator {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
constexpr size_t kStackBytes = 64 << 10;

struct sigaction previous_action[NSIG];

__thread Fault pending_fault;
__thread char *exit_stack_top = nullptr; // null: no guard on this thread

/// Runs instead of the faulting instruction, on the exit stack, outside of the signal handler.
[[noreturn]] HCONV_EMULATOR_LEAVES_STACK void leave_fiber() {
  auto *const fiber = static_cast<Fiber *>(twin::current);
  fiber->runner->leave_after_fault(*fiber, pending_fault);
}

void pass_on(int signal, siginfo_t *info, void *context) {
  const struct sigaction &previous = previous_action[signal];
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // Returning runs the faulting instruction again, now with the default action.
    ::signal(signal, SIG_DFL);
  } else {
    previous.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t *info, void *context) {
  if (!twin::current || !exit_stack_top) {
    pass_on(signal, info, context);
    return;
  }
  pending_fault = {signal, info->si_code, reinterpret_cast<uintptr_t>(info->si_addr)};
#if defined(__x86_64__)
  auto *const machine = static_cast<ucontext_t *>(context);
  machine->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&leave_fiber);
  // As after a call: 8 bytes below a multiple of 16.
  machine->uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(exit_stack_top) - 8;
#else
  pass_on(signal, info, context);
#endif
}

void install_handlers_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (const int signal : kSignals)
      sigaction(signal, &action, &previous_action[signal]);
  });
}

} // namespace

struct FaultGuard::State {
  stack_t previous_stack;
  char *previous_exit_stack_top;
  alignas(16) char signal_stack[kStackBytes];
  alignas(16) char exit_stack[kStackBytes];
};

FaultGuard::FaultGuard() : state_(new State) {
  install_handlers_once();
  stack_t stack{};
  stack.ss_sp = state_->signal_stack;
  stack.ss_size = sizeof state_->signal_stack;
  sigaltstack(&stack, &state_->previous_stack);
  state_->previous_exit_stack_top = exit_stack_top;
  exit_stack_top = state_->exit_stack + sizeof state_->exit_stack;
}

FaultGuard::~FaultGuard() {
  exit_stack_top = state_->previous_exit_stack_top;
  sigaltstack(&state_->previous_stack, nullptr);
  delete state_;
}

} // namespace hconv::emulator
