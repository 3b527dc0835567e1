#include "describe_variant.h"

#include "error.h"
#include "split.h"

namespace hconv::runtime {
namespace {

using Json = nlohmann::ordered_json;

int64_t channels_of_a_part(const hconv_problem &p, const Choice &choice) {
  return channel_steps(p, *choice.variant) / choice.parts * choice.variant->ic;
}

} // namespace

Json parameters_of(const Variant &v) {
  return {{"tile_oc", v.tile_oc},       {"tile_ow", v.tile_ow},
          {"tile_oh", v.tile_oh},       {"thread_oc", v.thread_oc},
          {"thread_ow", v.thread_ow},   {"ic", v.ic},
          {"kw_tile", v.kw_tile},       {"kw", v.kw},
          {"stages", v.stages},         {"warps", v.warps},
          {"min_blocks", v.min_blocks}, {"thread_oh", v.thread_oh},
          {"kh_tile", v.kh_tile},       {"unroll_ic", v.unroll_ic},
          {"fft_h", v.fft_h},           {"fft_w", v.fft_w},
          {"products", v.products},     {"sum_ic", v.sum_ic},
          {"layout", v.layout},         {"store_bytes", v.store_bytes},
          {"split", v.split},           {"a_shared", v.a_shared}};
}

Json json_of_parts(const hconv_problem &p, const Choice &choice, const Machine &machine) {
  Json costs = Json::array();
  for (int64_t parts : possible_parts(*choice.variant, p))
    costs.push_back({{"parts", parts}, {"cost", split_cost_of(*choice.variant, parts, p, machine).value}});
  return {{"parts", choice.parts},
          {"channels_of_a_part", channels_of_a_part(p, choice)},
          {"second_stage", choice.sum_parts->name},
          {"costs", costs}};
}

std::string plain_of_parts(const hconv_problem &p, const Choice &choice, const Machine &machine) {
  std::string t = text("parts        %lld of %lld channels each, then %s; cost by parts", wide(choice.parts),
                       wide(channels_of_a_part(p, choice)), choice.sum_parts->name);
  const char *separator = ": ";
  for (int64_t parts : possible_parts(*choice.variant, p)) {
    t += text("%s%lld: %.4g", separator, wide(parts), split_cost_of(*choice.variant, parts, p, machine).value);
    separator = ", ";
  }
  return t + "\n";
}

} // namespace hconv::runtime
