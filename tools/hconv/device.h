#ifndef HCONV_CLI_DEVICE_H
#define HCONV_CLI_DEVICE_H

#include "elements.h"

#include <hconv/hconv.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hconv::cli {

constexpr DLDevice cpu_device = {kDLCPU, 0};

/** Memory on a device, freed at the end. Throws Failure (EXIT_DEVICE) when there is not enough. */
class Memory {
public:
  /** At least one byte is taken, so that the address is valid for empty arrays too. `what` names it in messages. */
  Memory(DLDevice device, size_t bytes, const std::string &what);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  void *data() const { return address; }
  size_t size() const { return bytes; }

  /** Copies from, or to, an array on the host of size() bytes. */
  void upload(const void *from);
  void download(void *to) const;

private:
  DLDevice device;
  size_t bytes;
  std::string what;
  void *address = nullptr;
};

/** A dense tensor in memory on a device: row-major, or, of 4 dimensions, with the second innermost. Its elements on the
 * host are in row-major order in either case. */
class Tensor {
public:
  Tensor(DLDevice device, Type type, const std::vector<int64_t> &shape, const std::string &what,
         hconv_layout layout = HCONV_LAYOUT_NCHW);
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;

  Memory memory;
  DLTensor *dl() { return &descriptor; }

  /** Copies from, or to, an array on the host of memory.size() bytes. */
  void upload(const void *from);
  void download(void *to) const;

private:
  bool channels_last() const { return !strides.empty(); }

  std::vector<int64_t> shape, strides;
  DLTensor descriptor;
};

/** A plan, destroyed at the end. */
class Plan {
public:
  /** `doing` starts the message of a Failure, which has the exit code of the status. */
  Plan(const hconv_problem &problem, const std::string &doing);
  ~Plan();
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;

  const hconv_plan *get() const { return plan; }

private:
  hconv_plan *plan = nullptr;
};

/** A convolution whose data lies on the device, ready to run any number of times. */
class Convolution {
public:
  /** Plans it and allocates all memory. `has_bias` says whether set_bias will be called; `doing` starts the message
   * when the library refuses the problem. */
  Convolution(const hconv_problem &problem, Type type, bool has_bias, const std::string &doing);

  /** Host arrays in C order, of the problem's type. set_weights packs them as well. */
  void set_input(const void *data);
  void set_weights(const void *data);
  void set_bias(const void *data);

  /** Fills y with NaN, so that an output that is never written shows. */
  void poison_output();

  /** Starts one run; it is over when the device has been synchronised. */
  void run();

  /** y on the host. Waits for the device. */
  std::vector<unsigned char> output() const;

  std::vector<int64_t> output_shape() const;
  std::string variant() const { return hconv_plan_variant(plan.get()); }

private:
  DLDevice device;
  Plan plan;
  Tensor x, w, bias, y;
  Memory packed, workspace;
  bool has_bias;
};

} // namespace hconv::cli
#endif
