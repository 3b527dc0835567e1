// The transform domain: spectra of x's tiles, their products with the weights' spectra, and back to y.
#include "buffer.h"
#include "plan.h"

namespace hconv::runtime {
namespace {

const halide_type_t float32 = halide_type_t(halide_type_float, 32, 1);

int32_t narrow(int64_t value) {
  return static_cast<int32_t>(value); // plan creation has made sure that it fits
}

/// Planar complex spectra [inner, 2, channels, F].
Buffer spectra(const hconv_plan &plan, const void *address, int64_t inner, int64_t channels) {
  return images(plan, float32, address, inner, 2, channels, plan.transform.frequencies);
}

struct Tensors {
  const void *x, *packed, *bias;
  void *y;
  int64_t batch;
};

/// Outputs of the tiles [first, first + chunk), those that exist.
hconv_status call_chunk(const hconv_plan &plan, RunContext *run, const Tensors &t, char *workspace, int64_t first,
                        int64_t chunk) {
  const hconv_problem &p = plan.problem;
  const Geometry &g = plan.geometry;
  const TransformLayout &l = plan.transform;
  const halide_type_t type = halide_type_of(p.dtype);
  const TransformFunctions &transform = plan.variant->transform;
  const int32_t step_h = narrow(l.step_h), step_w = narrow(l.step_w), tiles_h = narrow(l.tiles_h),
                tiles_w = narrow(l.tiles_w), first_tile = narrow(first);

  Buffer x = images(plan, type, t.x, p.width, p.height, p.in_channels, t.batch);
  Buffer input = spectra(plan, workspace, chunk, l.ic);
  if (hconv_status bad = run->finish(transform.input(run, &x.buffer, p.padding.top, p.padding.left, step_h, step_w,
                                                     tiles_h, tiles_w, first_tile, &input.buffer),
                                     plan.variant->name))
    return bad;
  Buffer weights = spectra(plan, t.packed, l.oc, l.ic);
  Buffer output = spectra(plan, workspace + output_spectra_offset(l, chunk), chunk, l.oc);
  if (hconv_status bad =
          run->finish(plan.product->product(run, &input.buffer, &weights.buffer, &output.buffer), plan.product->name))
    return bad;
  // Without a bias the function still wants a valid buffer, which it never reads.
  Buffer bias(plan, type, t.bias ? t.bias : t.x, {{t.bias ? p.out_channels : 1, 1}});
  Buffer y = images(plan, type, t.y, g.output_width, g.output_height, p.out_channels, t.batch);
  return run->finish(transform.output(run, &output.buffer, &bias.buffer, t.bias ? 1 : 0, step_h, step_w, tiles_h,
                                      tiles_w, first_tile, &y.buffer),
                     plan.variant->name);
}

} // namespace

hconv_status call_transform_weights(const hconv_plan &plan, RunContext *run, const void *w, void *packed) {
  const hconv_problem &p = plan.problem;
  Buffer from =
      images(plan, halide_type_of(p.dtype), w, p.kernel_width, p.kernel_height, p.in_channels, p.out_channels);
  Buffer to = spectra(plan, packed, plan.transform.oc, plan.transform.ic);
  return run->finish(plan.variant->transform.weights(run, &from.buffer, &to.buffer), plan.variant->name);
}

hconv_status call_transform(const hconv_plan &plan, RunContext *run, const void *x, const void *packed,
                            const void *bias, void *y, Scratch workspace, int64_t batch) {
  const int64_t tiles = batch * plan.transform.image_tiles();
  const int64_t chunk = chunk_tiles(plan.transform, tiles, static_cast<int64_t>(workspace.bytes));
  for (int64_t first = 0; first < tiles; first += chunk)
    if (hconv_status bad =
            call_chunk(plan, run, {x, packed, bias, y, batch}, static_cast<char *>(workspace.address), first, chunk))
      return bad;
  return HCONV_OK;
}

} // namespace hconv::runtime
