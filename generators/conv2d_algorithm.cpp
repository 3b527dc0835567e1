#include "conv2d_algorithm.h"

using namespace Halide;

namespace hconv {

namespace {

/** Packed weights; a chunk of taps that reaches beyond KW repeats the last one. */
void stage_weights(DirectConv2D &d, const DirectConv2DInputs &in) {
  d.w_tile(d.wo, d.wx, d.wy, d.wi) = in.w(d.wo, in.whole_chunks ? Expr(d.wx) : min(d.wx, in.kw - 1), d.wy, d.wi);
}

/** Tiles that reach beyond x, for outputs that are not there, read its last row and column. */
void stage_padded(DirectConv2D &d, const DirectConv2DInputs &in) {
  d.x_tile(d.xw, d.xh, d.xc, d.xb) = in.x(min(d.xw, in.x_extent[0] - 1), min(d.xh, in.x_extent[1] - 1), d.xc, d.xb);
  stage_weights(d, in);
}

void stage_elements(DirectConv2D &d, const DirectConv2DInputs &in, Type element) {
  Func padded("x_padded");
  {
    Expr inside = d.xw >= 0 && d.xw < in.x_extent[0] && d.xh >= 0 && d.xh < in.x_extent[1] && d.xc < in.x_extent[2];
    Expr w = clamp(d.xw, 0, in.x_extent[0] - 1), h = clamp(d.xh, 0, in.x_extent[1] - 1);
    Expr value = in.x(w, h, min(d.xc, in.x_extent[2] - 1), d.xb);
    padded(d.xw, d.xh, d.xc, d.xb) = select(inside, value, cast(element, 0));
  }
  d.x_tile(d.xw, d.xh, d.xc, d.xb) = padded(d.xw - in.pad_left, d.xh - in.pad_top, d.xc, d.xb);
  stage_weights(d, in);
}

/** What lies outside is never read, so its address need not exist: no index is clamped. */
void stage_pieces(DirectConv2D &d, const DirectConv2DInputs &in, Type element) {
  const auto within = [](const Expr &i, const Expr &extent) { return cast<uint32_t>(i) < cast<uint32_t>(extent); };
  const auto promised = [](const Expr &i, const Expr &extent) { return unsafe_promise_clamped(i, 0, extent - 1); };
  Expr w = d.xw - in.pad_left, h = d.xh - in.pad_top;
  Expr inside = within(w, in.x_extent[0]) && within(h, in.x_extent[1]) && d.xc / 8 * 8 < in.x_extent[2];
  Expr value = in.x(promised(w, in.x_extent[0]), promised(h, in.x_extent[1]), promised(d.xc, in.x_extent[2]), d.xb);
  d.x_tile(d.xw, d.xh, d.xc, d.xb) = select(inside, value, cast(element, 0));
  stage_weights(d, in);
}

} // namespace

DirectConv2D direct_conv2d(const DirectConv2DInputs &in, Type element, Staging staging) {
  DirectConv2D d;
  if (staging == Staging::padded)
    stage_padded(d, in);
  else if (staging == Staging::pieces)
    stage_pieces(d, in, element);
  else
    stage_elements(d, in, element);

  d.split = in.slice_ic.defined();
  d.r = RDom(0, in.kw, 0, in.kh, 0, d.split ? in.slice_ic : in.packed_ic, "r");
  Expr ic = d.split ? d.s * in.slice_ic + d.r.z : Expr(d.r.z);
  d.acc(d.outputs()) = 0.f;
  d.acc(d.outputs()) +=
      cast<float>(d.x_tile(d.ow + d.r.x, d.oh + d.r.y, ic, d.b)) * cast<float>(d.w_tile(d.oc, d.r.x, d.r.y, ic));
  if (d.split) {
    d.y(d.outputs()) = d.acc(d.outputs());
    return d;
  }

  // Without a bias the buffer has one element of unspecified value, which the select drops.
  Expr bias = cast<float>(in.bias(min(d.oc, in.bias_extent - 1)));
  d.y(d.ow, d.oh, d.oc, d.b) = cast(element, d.acc(d.ow, d.oh, d.oc, d.b) + select(in.has_bias != 0, bias, 0.f));
  return d;
}

} // namespace hconv
