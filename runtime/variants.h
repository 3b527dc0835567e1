// The compiled variants, one row each, in the order of schedules/variants.txt.
#pragma once

#include <cstdint>
#include <string>

#include "HalideRuntime.h"

namespace hconv::runtime {

/// `mma` is direct's sum on tensor cores, `wgmma` the same with instructions that compute capability 9.0 alone has.
/// Both read packed input, channels innermost, which `pack_input` writes. `transform` transforms tiles of x, and of
/// products of spectra back to y; `spectral_product` multiplies in between. `transpose` moves tensors between NHWC and
/// NCHW. `sum_parts` adds up what split variants leave.
enum class Algorithm { direct, mma, wgmma, transform, spectral_product, pack, pack_input, transpose, sum_parts };
enum class Type { f32, bf16, f16, b32, b16 };
enum class Target { cuda, halide_ptx, cpu, cpu_baseline, cpu_avx2, cpu_avx512 };

const char *name_of(Algorithm algorithm);
const char *name_of(Type type);
const char *name_of(Target target);
bool is_cuda(Target target);
bool is_convolution(Algorithm algorithm);
bool on_tensor_cores(Algorithm algorithm); ///< mma, wgmma

/// y[OW,OH,OC,B] from x[W,H,IC,B], packed w[OCp,KW,KH,ICp], bias[OC]; returns 0 or a Halide error code. Of mma and
/// wgmma, x is the packed input [ICp,Wp,Hp,B], and w is stored with its channels innermost: [KH][KW][OCp][ICp]. A
/// direct CPU variant wants RunContext::tasks. With layout NHWC, x is the caller's or its packed copy, [ICp,W,H,B]
/// without padding, and y has the strides of NHWC. A split variant's y is its float32 parts[OW,OH,OC,S,B], and it reads
/// no bias.
using ConvFunction = int (*)(const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *bias,
                             int32_t has_bias, int32_t pad_top, int32_t pad_left, halide_buffer_t *y);
/// packed[OCp,KW,KH,ICp] from w[KW,KH,IC,OC], both as unsigned integers of the element's size.
using PackFunction = int (*)(const void *user_context, halide_buffer_t *w, halide_buffer_t *packed);
/// y[R,C,B] from x[C,R,B], innermost extent first, both as unsigned integers of the element's size.
using TransposeFunction = int (*)(const void *user_context, halide_buffer_t *x, halide_buffer_t *y);
/// packed[ICp,Wp,Hp,B] from x[W,H,IC,B] in the variant's layout, both as unsigned integers: x moved by the padding,
/// zeros all around it.
using PackInputFunction = int (*)(const void *user_context, halide_buffer_t *x, int32_t pad_top, int32_t pad_left,
                                  halide_buffer_t *packed);

/// Spectra are float32 and planar, innermost extent first: X[N,2,ICp,F], W[OCp,2,ICp,F], Y[N,2,OCp,F], with N tiles and
/// F frequencies; see docs/transform.md. Tile first_tile + n of the batch is at n.
using SpectrumInputFunction = int (*)(const void *user_context, halide_buffer_t *x, int32_t pad_top, int32_t pad_left,
                                      int32_t step_h, int32_t step_w, int32_t tiles_h, int32_t tiles_w,
                                      int32_t first_tile, halide_buffer_t *spectra);
/// The conjugate spectra of w[KW,KH,IC,OC], divided by the number of a tile's elements.
using SpectrumWeightsFunction = int (*)(const void *user_context, halide_buffer_t *w, halide_buffer_t *spectra);
using SpectrumOutputFunction = int (*)(const void *user_context, halide_buffer_t *spectra, halide_buffer_t *bias,
                                       int32_t has_bias, int32_t step_h, int32_t step_w, int32_t tiles_h,
                                       int32_t tiles_w, int32_t first_tile, halide_buffer_t *y);
/// Y[n,.,oc,f] = sum over ic of X[n,.,ic,f] * W[oc,.,ic,f].
using ProductFunction = int (*)(const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *y);

/// y[i,B] from parts[i,S,B] and bias[OC], with i = oc * pixels + pixel.
using SumPartsFunction = int (*)(const void *user_context, halide_buffer_t *parts, halide_buffer_t *bias,
                                 int32_t has_bias, int32_t pixels, halide_buffer_t *y);

struct TransformFunctions {
  SpectrumInputFunction input;
  SpectrumWeightsFunction weights;
  SpectrumOutputFunction output;
};

struct Variant {
  const char *name;
  Algorithm algorithm;
  Type type;
  Target target;
  int32_t tile_oc, tile_ow, tile_oh, thread_oc, thread_ow, ic, kw_tile, kw, stages, warps, min_blocks, thread_oh,
      kh_tile,
      unroll_ic; ///< 0: not given; of mma and wgmma, thread_* is the tile of a warp; of products, ow stands for n
  int32_t fft_h, fft_w;         ///< extents of a tile of x, of transform
  int32_t products, sum_ic;     ///< real products of a complex one (3 or 4), channels in one sum, of spectral_product
  int32_t layout;               ///< hconv_layout of x and y, of mma, wgmma and pack_input; else 0, NCHW
  int32_t store_bytes;          ///< of y that a lane stores at once, of mma and wgmma: 16, where y allows it, or 2
  int32_t split;                ///< 1: sums over slices of the channels, of direct and mma (split.h)
  int32_t a_shared;             ///< 1: both factors are read from shared memory by descriptor, of wgmma
  ConvFunction conv;            ///< of direct, mma and wgmma, else null
  PackFunction pack;            ///< of pack, else null
  PackInputFunction pack_input; ///< of pack_input, else null
  TransformFunctions transform; ///< of transform, else null
  ProductFunction product;      ///< of spectral_product, else null
  TransposeFunction transpose;  ///< of transpose, else null
  SumPartsFunction sum_parts;   ///< of sum_parts, else null
};

/// One kernel of one compiled function on one architecture, as ptxas reported it.
struct KernelResources {
  const char *function; ///< the variant's name; of transform with a suffix
  const char *kernel, *arch;
  int32_t registers, spill_store_bytes, spill_load_bytes, shared_bytes, threads;
};

template <class T> struct Table {
  const T *first, *last;
  const T *begin() const { return first; }
  const T *end() const { return last; }
};

Table<Variant> variants();
Table<KernelResources> kernel_resources();

/// Whether a kernel is one of the variant's functions'.
bool belongs(const KernelResources &kernel, const Variant &variant);

/// The row of that name, or null.
const Variant *find_variant(const std::string &name);

} // namespace hconv::runtime
