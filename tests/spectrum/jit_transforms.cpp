// The algorithm alone, through Halide's JIT: every stage by itself, in the order of its definition.
#include "generators/spectrum_algorithm.h"
#include "transforms.h"

#include <map>

using namespace Halide;

namespace spectrum_test {

namespace {

Type type_of_element(Element type) {
  return type == Element::f32 ? Float(32) : type == Element::bf16 ? BFloat(16) : Float(16);
}

Buffer<> view(Element type, const uint8_t *data, const Extent &extent) {
  return Buffer<>(type_of_element(type), const_cast<uint8_t *>(data), {extent[0], extent[1], extent[2], extent[3]});
}

Buffer<float> view(const Spectra &s) {
  return Buffer<float>(const_cast<float *>(s.values.data()), {s.n_extent, 2, s.channels, s.frequencies});
}

void extents_of(ImageParam &image, Expr (&extent)[4]) {
  for (int d = 0; d < 4; d++)
    extent[d] = image.dim(d).extent();
}

struct GridParams {
  Param<int> step_h, step_w, tiles_h, tiles_w, first_tile;
  hconv::TileGrid grid() { return {step_h, step_w, tiles_h, tiles_w, first_tile}; }
  void set(const Grid &g) {
    step_h.set(g.step_h);
    step_w.set(g.step_w);
    tiles_h.set(g.tiles_h);
    tiles_w.set(g.tiles_w);
    first_tile.set(g.first_tile);
  }
};

/** Each stage by itself. Lines are unrolled: else each point would be chosen among all of them. */
template <typename S> void store_stages(S &s) {
  for (Func f : {s.origin, s.tile, s.lines})
    if (f.defined())
      f.compute_root();
  for (const auto &funcs : {s.row_levels, s.column_levels, {s.rows, s.columns}})
    for (Func f : funcs)
      f.compute_root().unroll(s.at);
}

class JitTransforms : public Transforms {
public:
  explicit JitTransforms(const Variant &v) : size{v.th, v.tw}, element(v.type) {}

  void input(const Elements &x, const Extent &extent, int pad_top, int pad_left, const Grid &grid,
             Spectra &spectra) override {
    if (!input_spectrum.defined()) {
      input_spectrum = Func("spectrum");
      Expr extents[4];
      extents_of(x_param, extents);
      auto s = hconv::input_spectrum(input_spectrum, size, x_param, extents, input_grid.grid(), top, left,
                                     hconv::Outside::read);
      store_stages(s);
    }
    x_param.set(view(element, x.data(), extent));
    top.set(pad_top);
    left.set(pad_left);
    input_grid.set(grid);
    Buffer<float> out = view(spectra);
    input_spectrum.realize(out);
  }

  void weights(const Elements &w, const Extent &extent, Spectra &spectra) override {
    if (!weights_spectrum.defined()) {
      weights_spectrum = Func("spectrum");
      Expr extents[4];
      extents_of(w_param, extents);
      auto s = hconv::weights_spectrum(weights_spectrum, size, w_param, extents, hconv::Outside::read);
      store_stages(s);
    }
    w_param.set(view(element, w.data(), extent));
    Buffer<float> out = view(spectra);
    weights_spectrum.realize(out);
  }

  void output(const Spectra &spectra, const Elements *bias, const Grid &grid, const Extent &extent,
              Elements &y) override {
    if (!output_tile.defined()) {
      output_tile = Func("y");
      const Expr extents[4] = {y_extent[0], y_extent[1], y_extent[2], y_extent[3]};
      auto s = hconv::output_spectrum(output_tile, extents, type_of_element(element), size, y_spectrum,
                                      y_spectrum.dim(0).extent(), output_grid.grid(), bias_param,
                                      bias_param.dim(0).extent(), has_bias);
      store_stages(s);
    }
    y_spectrum.set(view(spectra));
    output_grid.set(grid);
    for (size_t d = 0; d < 4; d++)
      y_extent[d].set(extent[d]);
    has_bias.set(bias ? 1 : 0);
    const Elements none(element, 1);
    const Elements &values = bias ? *bias : none;
    bias_param.set(Buffer<>(type_of_element(element), const_cast<uint8_t *>(values.data()), {int(values.size())}));
    Buffer<> out = view(element, y.data(), extent);
    output_tile.realize(out);
  }

private:
  const hconv::SpectrumTile size;
  const Element element;
  ImageParam x_param{type_of_element(element), 4}, w_param{type_of_element(element), 4}, y_spectrum{Float(32), 4},
      bias_param{type_of_element(element), 1};
  Param<int> top, left, has_bias, y_extent[4];
  GridParams input_grid, output_grid;
  Func input_spectrum, weights_spectrum, output_tile;
};

} // namespace

const std::vector<Variant> &variants() {
  static const std::vector<Variant> all = {
      {"f32_16x16", 16, 16, Element::f32}, {"f32_32x32", 32, 32, Element::f32}, {"f32_64x64", 64, 64, Element::f32},
      {"f32_16x32", 16, 32, Element::f32}, {"f32_32x16", 32, 16, Element::f32}, {"bf16_16x16", 16, 16, Element::bf16},
      {"f16_16x16", 16, 16, Element::f16},
  };
  return all;
}

Transforms &transforms_of(const Variant &variant) {
  static std::map<std::string, std::unique_ptr<Transforms>> made;
  auto &transforms = made[variant.name];
  if (!transforms)
    transforms = std::make_unique<JitTransforms>(variant);
  return *transforms;
}

} // namespace spectrum_test
