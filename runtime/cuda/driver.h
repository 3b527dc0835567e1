// The CUDA driver library, found with dlopen at the first use and never closed.
#pragma once

#include <string>

#include "cuda/driver_api.h"
#include "hconv/hconv.h"

namespace hconv::runtime::cuda {

struct Driver {
#define HCONV_CUDA_MEMBER(member, name, parameters) Result(*member) parameters = nullptr;
  HCONV_CUDA_FUNCTIONS(HCONV_CUDA_MEMBER)
#undef HCONV_CUDA_MEMBER
  void *library = nullptr;
  int devices = 0;    ///< usable devices
  std::string absent; ///< why nothing can be called, "" if all is well
};

/// The driver; loading is attempted once a process, by whichever thread comes first. Look at `absent` before calling.
const Driver &driver();

/// HCONV_NO_DEVICE with a sentence unless the driver is there and has device `ordinal`.
hconv_status require_device(int ordinal);

/// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
std::string text_of(Result result);

/// HCONV_OK, or a status and a sentence "<call> failed: <name>" for a driver call's result.
hconv_status check(Result result, const char *call);

/// The status that `result` stands for.
hconv_status status_of(Result result);

} // namespace hconv::runtime::cuda
