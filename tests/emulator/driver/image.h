// Looks at a module image: is it one, and could this device run it?
#pragma once

#include "cuda_api.h"

namespace hconv::emulator {

/// A fatbin needs an entry that runs on compute capability `major`.`minor`: machine code of the same major and no
/// higher minor, or PTX of no higher capability; code for an `a` architecture needs the very same one. PTX text and ELF
/// are accepted by their first bytes. CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU, or success.
CUresult check_image(const void *image, int major, int minor);

} // namespace hconv::emulator
