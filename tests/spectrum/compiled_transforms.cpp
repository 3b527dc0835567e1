// The generated functions, called as runtime/ calls them.
#include "device.h"
#include "transforms.h"

#include <HalideRuntime.h>
#include <algorithm>
#include <map>
#include <stdexcept>

// int32: pad_top, pad_left, step_h, step_w, tiles_h, tiles_w, first_tile; has_bias, step_h, ..., first_tile.
extern "C" {
#define SPECTRUM_VARIANT(name, th, tw, element)                                                                        \
  int name##_input(const void *, halide_buffer_t *x, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,    \
                   halide_buffer_t *spectra);                                                                          \
  int name##_weights(const void *, halide_buffer_t *w, halide_buffer_t *spectra);                                      \
  int name##_output(const void *, halide_buffer_t *spectra, halide_buffer_t *bias, int32_t, int32_t, int32_t, int32_t, \
                    int32_t, int32_t, halide_buffer_t *y);
#include "spectrum_variants.inc"
#undef SPECTRUM_VARIANT
}

namespace spectrum_test {

namespace {

struct Functions {
  int (*input)(const void *, halide_buffer_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,
               halide_buffer_t *);
  int (*weights)(const void *, halide_buffer_t *, halide_buffer_t *);
  int (*output)(const void *, halide_buffer_t *, halide_buffer_t *, int32_t, int32_t, int32_t, int32_t, int32_t,
                int32_t, halide_buffer_t *);
};

const std::map<std::string, Functions> functions = {
#define SPECTRUM_VARIANT(name, th, tw, element) {#name, {name##_input, name##_weights, name##_output}},
#include "spectrum_variants.inc"
#undef SPECTRUM_VARIANT
};

halide_type_t type_of_element(Element type) {
  const uint8_t bits = uint8_t(8 * hconv_test::bytes_of(type));
  return {type == Element::bf16 ? halide_type_bfloat : halide_type_float, bits, 1};
}

/** A dense tensor where the functions work, by its description for generated host code. */
class Tensor {
public:
  Tensor(halide_type_t type, const std::vector<int> &extents, const void *data)
      : memory(data, bytes(type, extents)), shape(extents.size()) {
    int stride = 1;
    for (size_t d = 0; d < extents.size(); d++) {
      shape[d] = halide_dimension_t(0, extents[d], stride);
      stride *= extents[d];
    }
    buffer.type = type;
    buffer.dimensions = int(extents.size());
    buffer.dim = shape.data();
    memory.describe(buffer);
  }
  Tensor(Element type, const Extent &extent, const Elements &elements)
      : Tensor(type_of_element(type), {extent.begin(), extent.end()}, elements.data()) {}
  explicit Tensor(const Spectra &s)
      : Tensor(halide_type_t(halide_type_float, 32), {s.n_extent, 2, s.channels, s.frequencies}, s.values.data()) {}

  halide_buffer_t *get() { return &buffer; }
  void download(void *to) const { memory.download(to); }

private:
  static size_t bytes(halide_type_t type, const std::vector<int> &extents) {
    size_t count = size_t(type.bytes());
    for (int extent : extents)
      count *= size_t(extent);
    return count;
  }

  DeviceBuffer memory;
  std::vector<halide_dimension_t> shape;
  halide_buffer_t buffer = {};
};

void check(int status) {
  if (status)
    throw std::runtime_error("a generated function returned " + std::to_string(status));
}

class CompiledTransforms : public Transforms {
public:
  CompiledTransforms(const Variant &v, const Functions &functions) : element(v.type), functions(functions) {}

  void input(const Elements &x, const Extent &extent, int pad_top, int pad_left, const Grid &g,
             Spectra &spectra) override {
    Tensor in(element, extent, x), out(spectra);
    check(functions.input(nullptr, in.get(), pad_top, pad_left, g.step_h, g.step_w, g.tiles_h, g.tiles_w, g.first_tile,
                          out.get()));
    out.download(spectra.values.data());
  }

  void weights(const Elements &w, const Extent &extent, Spectra &spectra) override {
    Tensor in(element, extent, w), out(spectra);
    check(functions.weights(nullptr, in.get(), out.get()));
    out.download(spectra.values.data());
  }

  void output(const Spectra &spectra, const Elements *bias, const Grid &g, const Extent &extent, Elements &y) override {
    const Elements none(element, 1);
    const Elements &values = bias ? *bias : none;
    Tensor in(spectra), add(type_of_element(element), {int(values.size())}, values.data()), out(element, extent, y);
    check(functions.output(nullptr, in.get(), add.get(), bias ? 1 : 0, g.step_h, g.step_w, g.tiles_h, g.tiles_w,
                           g.first_tile, out.get()));
    out.download(y.data());
  }

private:
  const Element element;
  const Functions functions;
};

} // namespace

const std::vector<Variant> &variants() {
  static const std::vector<Variant> here = [] {
    std::vector<Variant> all = {
#define SPECTRUM_VARIANT(name, th, tw, element) {#name, th, tw, Element::element},
#include "spectrum_variants.inc"
#undef SPECTRUM_VARIANT
    };
    all.erase(std::remove_if(all.begin(), all.end(), [](const Variant &v) { return !can_run(v.name); }), all.end());
    return all;
  }();
  return here;
}

Transforms &transforms_of(const Variant &variant) {
  static std::map<std::string, std::unique_ptr<Transforms>> made;
  auto &transforms = made[variant.name];
  if (!transforms)
    transforms = std::make_unique<CompiledTransforms>(variant, functions.at(variant.name));
  return *transforms;
}

} // namespace spectrum_test
