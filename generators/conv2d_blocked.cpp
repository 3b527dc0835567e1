#include "conv2d_blocked.h"

#include "rounded.h"

using namespace Halide;

namespace hconv {
namespace {

// Tells bounds inference what guards and loops ensure and it cannot see.
Expr promised(const Expr &i, const Expr &extent) {
  return unsafe_promise_clamped(i, 0, extent - 1);
}

// A select would load outside of x, so its index would need clamps, which turn vector loads into gathers. Instead whole
// vectors are copied where they lie inside x, and the rest of a row by elements; the guards depend on no vector lane.
void define_x_tile(const BlockedConv2D &conv, Func x_tile, const DirectConv2DInputs &in) {
  const Var &w = conv.xw, &h = conv.xh, &c = conv.xc, &b = conv.xb;
  constexpr int copied = BlockedConv2D::copied;
  Expr W = in.x_extent[0], H = in.x_extent[1], IC = in.x_extent[2], whole_columns = W / copied * copied;
  x_tile(w, h, c, b) = 0.f;
  for (bool whole : {true, false}) {
    RDom guard(0, 1, whole ? "whole" : "rest");
    guard.where(c < IC);
    guard.where(h >= 0 && h < H);
    // As unsigned, or the simplifier would turn the vector's first column back into each lane's own.
    Expr first = cast<uint32_t>(w / copied * copied);
    guard.where(whole ? first < cast<uint32_t>(whole_columns) : w >= whole_columns && w < W);
    x_tile(w, h, c, b) = cast<float>(in.x(promised(w + guard, W), promised(h, H), promised(c, IC), b));
  }
}

} // namespace

BlockedConv2D blocked_conv2d(const DirectConv2DInputs &in, Type element, const ConvBlocks &blocks) {
  BlockedConv2D conv;
  const Var &ow = conv.ow, &oh = conv.oh, &oc = conv.oc, &b = conv.b, &k = conv.k;
  const int usual = blocks.columns.front();
  // The widest remainder that a narrower tile covers, or 0.
  auto below = [&](size_t i) { return i + 1 < blocks.columns.size() ? blocks.columns[i + 1] : 0; };
  Expr usual_tiles = (blocks.ow + usual - below(0) - 1) / usual, rest = max(blocks.ow - usual_tiles * usual, 0);
  Expr channel_blocks = (in.packed_ic + blocks.channels - 1) / blocks.channels;

  conv.acc(oc, ow, oh, b) = 0.f;
  for (size_t i = 0; i < blocks.columns.size(); i++) {
    const int width = blocks.columns[i];
    BlockedConv2D::Columns part;
    part.width = width;
    define_x_tile(conv, part.x_tile, in);
    Expr wo = promised(conv.wo, in.packed_oc), wi = conv.wi;
    // Where w_tile is staged, so is all of the last block, which may be a part of a block.
    wi = element == Float(32) ? promised(wi, in.packed_ic) : min(wi, in.packed_ic - 1);
    part.w_tile(conv.wo, conv.wx, conv.wy, conv.wi) = cast<float>(in.w(wo, conv.wx, conv.wy, wi));

    part.r = RDom(0, in.kw, 0, in.kh, 0, blocks.channels, "r");
    Expr ic = k * blocks.channels + part.r.z;
    part.r.where(ic < in.packed_ic);
    part.part(oc, ow, oh, b, k) = 0.f;
    part.part(oc, ow, oh, b, k) += part.x_tile(ow + part.r.x - in.pad_left, oh + part.r.y - in.pad_top, ic, b) *
                                   part.w_tile(oc, part.r.x, part.r.y, ic);

    const bool last = width != usual;
    Expr tiles = last ? select(rest > below(i) && rest <= width, 1, 0) : usual_tiles;
    part.tiles = RDom(0, width, 0, tiles, 0, channel_blocks, "tiles");
    Expr column = part.tiles.y * width + part.tiles.x + (last ? usual_tiles * usual : 0);
    conv.acc(oc, column, oh, b) += part.part(oc, column, oh, b, part.tiles.z);
    conv.columns.push_back(part);
  }

  // Without a bias the buffer has one element of unspecified value, which the select drops.
  Expr bias = cast<float>(in.bias(min(oc, in.bias_extent - 1)));
  conv.y(ow, oh, oc, b) = rounded(conv.acc(oc, ow, oh, b) + select(in.has_bias != 0, bias, 0.f), element);
  return conv;
}

} // namespace hconv
