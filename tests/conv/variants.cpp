#include "variants.h"

#include "device.h"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <runtime/environment.h>
#include <runtime/machine.h>
#include <set>
#include <stdexcept>

namespace hconv_test {

namespace {

std::string list_as_json() {
  size_t size = 0;
  hconv_list(HCONV_JSON, nullptr, &size);
  std::string text(size, '\0');
  check(hconv_list(HCONV_JSON, text.data(), &size), "hconv_list");
  text.resize(size - 1); // without the terminating 0
  return text;
}

/** Whether the test device runs an algorithm's variants of a target: this processor has its instructions, or the driver
 * its code. */
bool serves(const std::string &target, const std::string &algorithm) {
  if (test_device().device_type == kDLCUDA)
    return target == "cuda" && (algorithm != "wgmma" || hconv::runtime::machine_of(test_device()).capability == 90);
  if (target == "cpu_avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  if (target == "cpu_avx2")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return target == "cpu_baseline" || target == "cpu";
}

struct Listed {
  std::vector<Variant> variants;
  std::vector<SpectralProduct> products;
};

Listed read_list() {
  std::map<Element, int> count;
  Listed listed;
  for (const nlohmann::json &row : nlohmann::json::parse(list_as_json())) {
    const std::string algorithm = row.at("algorithm"), target = row.at("target");
    if (algorithm.compare(0, 4, "pack") == 0 || algorithm == "transpose" || algorithm == "sum_parts" ||
        !serves(target, algorithm))
      continue;
    if (algorithm == "spectral_product") {
      listed.products.push_back({row.at("name"), target, row.at("parameters").at("products")});
      continue;
    }
    auto parameter = [&](const char *key) { return row.at("parameters").at(key).get<int>(); };
    Variant v;
    v.name = row.at("name");
    v.algorithm = algorithm;
    v.target = target;
    v.type = element_from_name(row.at("type"));
    v.tile_oc = parameter("tile_oc"), v.tile_ow = parameter("tile_ow"), v.tile_oh = parameter("tile_oh");
    v.ic = parameter("ic"), v.kh_tile = parameter("kh_tile"), v.kw_tile = parameter("kw_tile"), v.kw = parameter("kw");
    v.layout = parameter("layout") ? HCONV_LAYOUT_NHWC : HCONV_LAYOUT_NCHW;
    v.fft_h = parameter("fft_h"), v.fft_w = parameter("fft_w");
    v.split = parameter("split") != 0;
    v.index = count[v.type]++;
    listed.variants.push_back(v);
  }
  return listed;
}

const Listed &listed() {
  static const Listed listed = read_list();
  return listed;
}

std::vector<Variant> those_that(bool transform) {
  std::vector<Variant> variants;
  for (const Variant &v : all_variants())
    if (v.transforms() == transform)
      variants.push_back(v);
  return variants;
}

void set_variant(const char *name) {
  if (name)
    setenv("HCONV_VARIANT", name, 1);
  else
    unsetenv("HCONV_VARIANT");
  hconv::runtime::reload_environment();
}

} // namespace

std::ostream &operator<<(std::ostream &out, const Variant &variant) {
  return out << variant.name;
}

Shape Variant::fitted(Shape shape) const {
  const int64_t chunk = std::max(kh_tile, 1);
  const int64_t KH = (shape.KH + chunk - 1) / chunk * chunk, KW = kw ? kw : shape.KW;
  shape.H = std::max<int64_t>(shape.H + KH - shape.KH, 1), shape.W = std::max<int64_t>(shape.W + KW - shape.KW, 1);
  shape.KH = KH, shape.KW = KW;
  shape.OC = whole_channels(shape.OC);
  return shape;
}

const std::vector<Variant> &all_variants() {
  return listed().variants;
}

const std::vector<Variant> &summing_variants() {
  static const std::vector<Variant> variants = those_that(false);
  return variants;
}

const std::vector<Variant> &transform_variants() {
  static const std::vector<Variant> variants = those_that(true);
  return variants;
}

const std::vector<SpectralProduct> &spectral_products() {
  return listed().products;
}

int real_products_of(const std::string &variant) {
  for (const SpectralProduct &product : spectral_products())
    if (variant.find("+" + product.name) != std::string::npos)
      return product.products;
  throw std::invalid_argument("'" + variant + "' names no product kernel of the test device");
}

const Variant &variant_named(const std::string &name) {
  for (const Variant &v : all_variants())
    if (v.name == name.substr(0, name.find('+')))
      return v;
  throw std::invalid_argument("'" + name + "' is no variant of the test device");
}

std::vector<Variant> split_variants() {
  std::vector<Variant> variants;
  for (const Variant &v : all_variants())
    if (v.split)
      variants.push_back(v);
  return variants;
}

std::vector<Variant> variants_of_16_bits() {
  std::vector<Variant> variants;
  for (const Variant &v : summing_variants())
    if (v.type != Element::f32)
      variants.push_back(v);
  return variants;
}

std::vector<Variant> without_twins(const std::vector<Variant> &variants) {
  std::vector<Variant> some;
  std::set<std::pair<std::string, Element>> seen;
  for (const Variant &v : variants)
    if (v.layout == HCONV_LAYOUT_NCHW || seen.insert({v.algorithm, v.type}).second)
      some.push_back(v);
  return some;
}

PinnedVariant::PinnedVariant(const std::string &name) {
  set_variant(name.empty() ? nullptr : name.c_str());
}
PinnedVariant::~PinnedVariant() {
  set_variant(nullptr);
}

} // namespace hconv_test
