// Everything that is checked before anything is launched. Each refusal is a sentence in hconv_last_error() that names
// the argument, the value found and the value expected.
#pragma once

#include "hconv/hconv.h"

struct hconv_plan;

namespace hconv::runtime {

/// One image of x or y and the packed weights must have fewer elements than this: kernels index in 32 bits.
constexpr int64_t element_limit = int64_t{1} << 31;

/// How a tensor that is dense in a layout steps from element to element; a stride where an extent is 1 does not matter.
struct Dense {
  bool row_major, channels_last; ///< both where at most one of the two orders' extents is not 1
};
Dense dense_of(const DLTensor &tensor);

/// Whether a 4-D tensor has the strides of channels last, and not of row-major order too.
inline bool is_channels_last(const DLTensor &tensor) {
  const Dense dense = dense_of(tensor);
  return dense.channels_last && !dense.row_major;
}

/// Null, rank and shape pointer of a descriptor called `name` in sentences.
hconv_status check_descriptor(const DLTensor *tensor, const char *name, int rank, const char *layout);

/// Types, devices, extents, padding, output extents and sizes of *problem (which must not be null).
hconv_status check_problem(const hconv_problem *problem);

/// Fills *problem from the shapes, types and devices of x[B,IC,H,W] and w[OC,IC,KH,KW] and the strides of x, and checks
/// it.
hconv_status problem_from_tensors(const DLTensor *x, const DLTensor *w, const hconv_padding *padding, hconv_math math,
                                  hconv_problem *problem);

/// w against the plan, packed's size, alignment, and that the two do not overlap.
hconv_status check_pack(const hconv_plan &plan, const DLTensor *w, const void *packed, size_t packed_bytes);

/// That x and y lie where a kernel that takes 16 bytes of NHWC at once can read and write them.
hconv_status check_alignment(const hconv_plan &plan, const DLTensor &x, const DLTensor &y);

/// x, packed, bias, y and workspace against the plan; y and the workspace may overlap none of the others.
hconv_status check_run(const hconv_plan &plan, const DLTensor *x, const void *packed, const DLTensor *bias,
                       const DLTensor *y, const void *workspace, size_t workspace_bytes);

/// Rank, type, device, shape, strides and data of x, w (null: not looked at), bias (null: none) and y for *problem, and
/// that y overlaps none of the others.
hconv_status check_tensors(const hconv_problem &problem, const DLTensor *x, const DLTensor *w, const DLTensor *bias,
                           const DLTensor *y);

/// The tensor's first element.
inline char *data_of(const DLTensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byte_offset;
}

} // namespace hconv::runtime
