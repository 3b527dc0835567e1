// Memory and copies on a device; the C functions hconv_malloc and so on, and HCONV_CHECK, stand on these.
#pragma once

#include "hconv/hconv.h"

namespace hconv::runtime {

hconv_status copy(void *to, DLDevice to_device, const void *from, DLDevice from_device, size_t bytes, void *stream);

/// Scratch memory that is used by work on `stream` and nothing else; on CUDA from the stream's memory pool. The plan's
/// context must be current on CUDA.
hconv_status scratch_allocate(DLDevice device, size_t bytes, void *stream, void **memory);
hconv_status scratch_free(DLDevice device, void *memory, void *stream);

} // namespace hconv::runtime
