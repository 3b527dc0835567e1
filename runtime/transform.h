// Overlap-save in the transform domain: tiles, spectra and workspace of a transform variant with its product kernel.
//
// x is cut into tiles of fft_h x fft_w pixels that overlap by KH - 1 and KW - 1, so that each gives step_h x step_w
// outputs of its own. docs/transform.md has the method, the layouts and where the error bound comes from.
#pragma once

#include "hconv/hconv.h"
#include "problem.h"
#include "variants.h"

namespace hconv::runtime {

struct TransformLayout {
  int64_t fft_h, fft_w;
  int64_t frequencies;      ///< of the half plane that a real transform has
  int64_t step_h, step_w;   ///< outputs of one tile
  int64_t tiles_h, tiles_w; ///< of one image
  int64_t ic, oc;           ///< channels of the spectra: whole steps and tiles of the product
  int64_t granule;          ///< a chunk has a multiple of this many tiles: whole tiles of the product and groups

  int64_t image_tiles() const { return tiles_h * tiles_w; }
  /// Floats of the input's, the weights' and the output's spectra, of `tiles` tiles.
  int64_t input_floats(int64_t tiles) const { return 2 * tiles * ic * frequencies; }
  int64_t output_floats(int64_t tiles) const { return 2 * tiles * oc * frequencies; }
  int64_t weight_floats() const { return 2 * oc * ic * frequencies; }
};
/// Tiles, or output channels of the weights, that a block of the transforms computes side by side; spectra have whole
/// groups (spectrum_group() in schedules/spectrum_cuda). On the CPU it is a vector register of float32.
int64_t spectrum_group(const Variant &transform);

TransformLayout transform_layout(const hconv_problem &problem, const Variant &transform, const Variant &product);

/// The input's spectra lie at the workspace's start, the output's at this many bytes behind it.
int64_t output_spectra_offset(const TransformLayout &layout, int64_t chunk);
/// Bytes of workspace for chunks of `chunk` tiles.
int64_t chunk_bytes(const TransformLayout &layout, int64_t chunk);

/// Tiles of a chunk, a multiple of the granule, when `tiles` tiles are computed in `workspace` bytes: as few chunks as
/// fit, all of about the same size. 0: not even one granule fits.
int64_t chunk_tiles(const TransformLayout &layout, int64_t tiles, int64_t workspace);

/// What hconv_plan_workspace_bytes is bounded by, except that one granule must fit. More would save no launch that
/// counts: a chunk of this size computes for about a millisecond. On the CPU a chunk's spectra should stay in caches,
/// but need not be smaller than the weights' spectrum, which passes through them once a chunk: it is that size, within
/// these limits.
constexpr int64_t workspace_limit_on_cuda = int64_t{1} << 30;
constexpr int64_t least_workspace_limit_on_cpu = int64_t{1} << 23, workspace_limit_on_cpu = int64_t{1} << 25;

/// Tiles of one launch's images, and the chunk that the full workspace has room for.
int64_t launch_tiles(const hconv_problem &problem, const TransformLayout &layout);
int64_t full_chunk(const hconv_problem &problem, const TransformLayout &layout);

/// Of one output before the store rounds it: |result - exact| <= relative * (|t| |w| + |bias|) + absolute, with the
/// 2-norms of the tile t of x that it is computed from, all channels and the zeros around x, and of its filter w.
struct TransformError {
  double relative;
  double absolute;          ///< of numbers that underflow
  double spectrum_relative; ///< of a spectrum, by 2-norms
};
TransformError transform_error(const hconv_problem &problem, const Variant &transform, const Variant &product,
                               double tile_norm = 0, double filter_norm = 0);

} // namespace hconv::runtime
