#include "variants.h"

#include "device.h"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <runtime/environment.h>

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

std::vector<Variant> read_variants() {
  const std::string device = test_device().device_type == kDLCUDA ? "cuda" : "cpu";
  std::map<Element, int> count;
  std::vector<Variant> variants;
  for (const nlohmann::json &row : nlohmann::json::parse(list_as_json()).at("variants")) {
    const std::string algorithm = row.at("algorithm"), target = row.at("target");
    if (algorithm == "pack" || row.at("device") != device || !row.at("available").get<bool>())
      continue;
    auto parameter = [&](const char *key) { return row.value(key, 0); };
    Variant v;
    v.name = row.at("name");
    v.algorithm = algorithm;
    v.target = target;
    v.type = element_from_name(row.at("type"));
    v.tile_oc = parameter("tile_oc"), v.tile_ow = parameter("tile_ow"), v.tile_oh = parameter("tile_oh");
    v.ic = parameter("ic"), v.kw_tile = parameter("kw_tile"), v.kw = parameter("kw");
    v.index = count[v.type]++;
    variants.push_back(v);
  }
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

const std::vector<Variant> &all_variants() {
  static const std::vector<Variant> variants = read_variants();
  return variants;
}

std::vector<Variant> variants_of_16_bits() {
  std::vector<Variant> variants;
  for (const Variant &v : all_variants())
    if (v.type != Element::f32)
      variants.push_back(v);
  return variants;
}

PinnedVariant::PinnedVariant(const std::string &name) {
  set_variant(name.empty() ? nullptr : name.c_str());
}
PinnedVariant::~PinnedVariant() {
  set_variant(nullptr);
}

} // namespace hconv_test
