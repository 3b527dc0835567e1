/** One convolution's extents, and the files of shapes/ that list them. */
#pragma once

#include <cstdint>
#include <hconv/hconv.h>
#include <string>
#include <vector>

namespace hconv_test {

struct Shape {
  int64_t B = 1, IC = 1, H = 1, W = 1, KH = 1, KW = 1, OC = 1;
  hconv_padding pad = {0, 0, 0, 0};

  int64_t OH() const { return H + pad.top + pad.bottom - KH + 1; }
  int64_t OW() const { return W + pad.left + pad.right - KW + 1; }
  int64_t x_size() const { return B * IC * H * W; }
  int64_t w_size() const { return OC * IC * KH * KW; }
  int64_t y_size() const { return B * OC * OH() * OW(); }
  /** Products summed into one output. */
  int64_t terms() const { return IC * KH * KW; }
  /** Multiply-adds of the whole convolution. */
  int64_t work() const { return y_size() * terms(); }
  /** "B,C,H,W,KH,KW,C_out,top:bottom:left:right", as in the files. */
  std::string text() const;
};

/** Parses "B,C,H,W,KH,KW[,C_out[,top:bottom:left:right]]"; throws std::invalid_argument naming what is wrong. */
Shape shape_from_text(const std::string &text);

/** Shapes of a file: one token a line, '#' starts a comment. Errors name file and line. */
std::vector<Shape> shapes_of_file(const std::string &path);

} // namespace hconv_test
