#ifndef HCONV_CLI_ARGUMENTS_H
#define HCONV_CLI_ARGUMENTS_H

#include "elements.h"

#include <hconv/hconv.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hconv::cli {

/** One convolution's extents as the command line and the files of shapes/ spell them:
 * B,C,H,W,KH,KW[,C_out[,top:bottom:left:right]]. C_out is C if left out. */
struct Shape {
  int64_t batch, in_channels, height, width, kernel_height, kernel_width, out_channels;
  std::optional<hconv_padding> padding; ///< the shape's own, which wins over --pad
};

/** Parses "4,64,128,128,8,8", "4,64,128,128,8,8,96" or "4,64,128,128,8,8,96,3:4:3:4". `argument` names its origin in
 * messages. Every number must be an integer from 0 to 2^31 - 1 (whether 0 makes sense is the library's to say). Throws
 * Failure (EXIT_USAGE). */
Shape parse_shape(const std::string &text, const std::string &argument);

/** "4,64,128,128,8,8,96": always with C_out, never with the padding. */
std::string shape_token(const Shape &shape);

/** Reads a file of shapes: words between spaces, `#` starts a comment. Throws Failure with file and line. */
std::vector<Shape> read_shapes(const std::string &path);

/** --pad: one number for all sides, "TOP,BOTTOM,LEFT,RIGHT", or "same". "same" gives an output of the input's height
 * and width; where the kernel is even, the odd pixel goes to the bottom and right, as in PyTorch and TensorFlow. */
hconv_padding parse_padding(const std::string &text, int64_t kernel_height, int64_t kernel_width);

/** --type: "f32", "bf16" or "f16". */
Type parse_type(const std::string &text);

/** --math: "fp32", "strict" or "tf32", and back. */
hconv_math parse_math(const std::string &text);
const char *math_name(hconv_math math);

/** --layout: "nchw" or "nhwc", and back. */
hconv_layout parse_layout(const std::string &text);
const char *layout_name(hconv_layout layout);

/** --device: "cpu", "cuda" or "cuda:N". An empty text stands for hconv_default_device: $HCONV_DEVICE (cpu or cuda) or,
 * if that is not set, cuda where there is a device and cpu where there is none. Throws Failure: EXIT_USAGE for another
 * text, EXIT_NO_DEVICE when CUDA is asked for, there is no such device, and it `must_exist`. */
DLDevice select_device(const std::string &text, bool must_exist = true);

/** "cpu" or "cuda:N". */
std::string device_token(DLDevice device);

/** The device's name as hconv_device_name gives it. */
std::string device_name(DLDevice device);

/** The problem that the library is asked about. */
hconv_problem make_problem(const Shape &shape, const hconv_padding &padding, Type type, hconv_math math,
                           DLDevice device, hconv_layout layout = HCONV_LAYOUT_NCHW);

/** Multiplications plus additions of the direct algorithm, 2*B*OC*OH*OW*IC*KH*KW; `output` is [B, OC, OH, OW]. */
double operations(const Shape &shape, const int64_t output[4]);

} // namespace hconv::cli
#endif
