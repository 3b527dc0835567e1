#ifndef HCONV_CLI_STOPWATCH_H
#define HCONV_CLI_STOPWATCH_H

#include "cuda_timer.h"
#include "device.h"

#include <hconv/hconv.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace hconv::cli {

/** Times runs of a convolution on one device: with events on CUDA, with the clock on the CPU. */
class Stopwatch {
public:
  /** With clear_cache, memory of 256 MB (more than any GPU's L2) is written before each run on CUDA, outside the
   * measured time, so that no run finds the last one's data there. On the CPU nothing is cleared. */
  Stopwatch(DLDevice device, bool clear_cache);

  /** Milliseconds of one run. */
  double milliseconds(Convolution &convolution);

  /** Milliseconds of `repeat` runs, sorted; with repeat 0 as many as fit into about a second, at least 3 and at
   * most 50. */
  std::vector<double> sorted_milliseconds(Convolution &convolution, int repeat);

private:
  DLDevice device;
  std::unique_ptr<CudaTimer> timer; ///< null on the CPU
  std::unique_ptr<Memory> cleared;  ///< null where nothing is cleared
};

/** The middle one of sorted values (the mean of the two middle ones). */
double median(const std::vector<double> &sorted);

} // namespace hconv::cli
#endif
