#ifndef HCONV_CLI_CUDA_TIMER_H
#define HCONV_CLI_CUDA_TIMER_H

#include <cstddef>
#include <memory>

namespace hconv::cli {

/** Times what runs on the default stream of a CUDA device, with a pair of events. Throws Failure where the driver
 * fails. */
class CudaTimer {
public:
  /** Uses the thread's current context if it is one of this device, else the primary one, as hconv_run does. */
  explicit CudaTimer(int ordinal);
  ~CudaTimer();
  CudaTimer(const CudaTimer &) = delete;
  CudaTimer &operator=(const CudaTimer &) = delete;

  /** Starts to fill device memory with zeros and does not wait for it: work that is queued meanwhile starts without the
   * delay of its launch. */
  void start_clearing(void *memory, size_t bytes);

  void start(); ///< records the first event
  void stop();  ///< records the second

  /** Waits for the second event; milliseconds between the two. */
  double milliseconds();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace hconv::cli
#endif
