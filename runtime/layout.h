// What a variant wants in memory: its packed weights, and on tensor cores also x, packed into the workspace.
// transform.h has the spectra of transform variants.
#pragma once

#include "hconv/hconv.h"
#include "problem.h"
#include "variants.h"

namespace hconv::runtime {

/// The packed weights of a variant: extents, strides in elements, and the product of the extents (-1, and no strides:
/// it does not fit in 64 bits). direct has OC innermost, [ICp][KH][KW][OCp]; mma and wgmma have the channels,
/// [KH][KW][OCp][ICp].
struct PackedExtents {
  int64_t oc, kw, kh, ic, elements;
  int64_t oc_stride, kw_stride, kh_stride, ic_stride;
};
PackedExtents packed_extents(const hconv_problem &problem, const Variant &variant);

/// Channels of NHWC that the kernels read and write at once: 16 bytes.
constexpr int64_t channel_piece = 8;

/// x as mma and wgmma read it, [B][Hp][Wp][ICp] with the padding folded in; of NHWC [B][H][W][ICp], where IC is not a
/// multiple of channel_piece.
struct PackedInput {
  int64_t ic, width, height;
  int64_t image; ///< elements of one image; 0: the variant reads x itself; -1: they do not fit in 64 bits
};
PackedInput packed_input(const hconv_problem &problem, const Variant &variant);

/// What a variant that serves a problem of the other layout has in the workspace besides: x and y of one launch in its
/// own. Bytes, multiples of 256; 0 for a variant of the problem's layout, and for one of NCHW where both layouts have
/// the same order of elements (one channel, one pixel). One of NHWC wants 16 bytes of alignment, which tensors of NCHW
/// need not have.
struct Conversion {
  int64_t x, y;
  int64_t bytes() const { return x + y; }
};
Conversion conversion_of(const hconv_problem &problem, const Variant &variant);

/// Images of one launch: one or more, with all of x, y and the packed input in fewer than 2^30 elements where that is
/// possible. (Half of the 2^31 that kernels can index, so that tiles which reach over the edge stay in range as well.)
/// `parts` of a split variant, else 0: its parts are counted as y is.
int64_t launch_batch(const Geometry &geometry, const PackedInput &input, int64_t parts = 0);

/// Bytes that a plan reports. `product` is the product kernel of a transform variant, else null.
int64_t packed_bytes(const hconv_problem &problem, const Variant &variant, const Variant *product);

/// Bytes of workspace, multiples of 256: with which a run is fastest, and with which it is possible. Of mma both are
/// the packed input of one launch; 0 for a variant that reads x itself. Of a split variant they hold the parts behind
/// that. Conversions are not among them.
struct Workspace {
  int64_t full, minimum;
};
Workspace workspace_of(const hconv_problem &problem, const Variant &variant, const Variant *product, int64_t parts = 0);

/// Where a split variant's parts start in the workspace, behind the packed input of `batch` images; a multiple of 256.
int64_t parts_offset(const Geometry &geometry, const PackedInput &input, int64_t batch);

} // namespace hconv::runtime
