#include <nlohmann/json.hpp>

#include "describe.h"
#include "error.h"
#include "variants.h"

namespace hconv::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const KernelResources &r) {
  return {{"kernel", r.kernel},
          {"arch", r.arch},
          {"registers", r.registers},
          {"spill_store_bytes", r.spill_store_bytes},
          {"spill_load_bytes", r.spill_load_bytes},
          {"shared_bytes", r.shared_bytes},
          {"threads", r.threads}};
}

Json json_of(const Variant &v) {
  Json j = {{"name", v.name},
            {"algorithm", name_of(v.algorithm)},
            {"type", name_of(v.type)},
            {"target", name_of(v.target)},
            {"parameters", {{"tile_oc", v.tile_oc},       {"tile_ow", v.tile_ow},
                            {"tile_oh", v.tile_oh},       {"thread_oc", v.thread_oc},
                            {"thread_ow", v.thread_ow},   {"ic", v.ic},
                            {"kw_tile", v.kw_tile},       {"kw", v.kw},
                            {"stages", v.stages},         {"warps", v.warps},
                            {"min_blocks", v.min_blocks}, {"thread_oh", v.thread_oh},
                            {"kh_tile", v.kh_tile},       {"unroll_ic", v.unroll_ic},
                            {"fft_h", v.fft_h},           {"fft_w", v.fft_w},
                            {"products", v.products},     {"sum_ic", v.sum_ic},
                            {"layout", v.layout},         {"store_bytes", v.store_bytes}}},
            {"resources", Json::array()}};
  for (const KernelResources &r : kernel_resources())
    if (belongs(r, v))
      j["resources"].push_back(json_of(r));
  return j;
}

std::string plain_of(const Variant &v) {
  std::string t = text("%-58s %-10s %-5s %-12s", v.name, name_of(v.algorithm), name_of(v.type), name_of(v.target));
  if (v.algorithm == Algorithm::transform)
    t += text(" tile %d x %d", v.fft_h, v.fft_w);
  else if (v.algorithm == Algorithm::spectral_product)
    t += text(" OC %3d tiles %d IC %2d products %d stages %d warps %d", v.tile_oc, v.tile_ow, v.ic, v.products,
              v.stages, v.warps);
  else if (is_convolution(v.algorithm))
    t += text(" OC %3d OW %3d OH %d IC %2d KW %s stages %d warps %d", v.tile_oc, v.tile_ow, v.tile_oh ? v.tile_oh : 1,
              v.ic, v.kw ? text("%d n", v.kw).c_str() : "any", v.stages, v.warps);
  t += "\n";
  for (const KernelResources &r : kernel_resources())
    if (belongs(r, v))
      t += text("    %s on sm_%s: %d registers, %d bytes spilled, %d bytes of shared memory, %d threads\n", r.kernel,
                r.arch, r.registers, r.spill_store_bytes + r.spill_load_bytes, r.shared_bytes, r.threads);
  return t;
}

hconv_status list(hconv_format format, char *buffer, size_t *size) {
  if (hconv_status bad = check_format(format))
    return bad;
  if (format == HCONV_JSON) {
    Json j = Json::array();
    for (const Variant &v : variants())
      j.push_back(json_of(v));
    return deliver(j.dump(2) + "\n", buffer, size);
  }
  std::string content;
  for (const Variant &v : variants())
    content += plain_of(v);
  return deliver(content, buffer, size);
}

} // namespace
} // namespace hconv::runtime

extern "C" hconv_status hconv_list(hconv_format format, char *text, size_t *size) {
  return hconv::runtime::guarded([&] { return hconv::runtime::list(format, text, size); });
}
