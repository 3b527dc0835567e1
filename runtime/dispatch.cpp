#include "dispatch.h"

#include <algorithm>

#include "error.h"
#include "problem.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

constexpr int64_t grid_y_limit = 65535;

int64_t tiles(int64_t extent, int32_t tile) {
  return (extent + std::max(tile, 1) - 1) / std::max(tile, 1);
}
int64_t round_up(int64_t extent, int32_t tile) {
  return tiles(extent, tile) * std::max(tile, 1);
}
long long wide(int64_t value) {
  return value;
}

/// The pack kernel that fits a convolution variant: by element size and kind of memory.
const Variant *pack_for(const Variant &conv) {
  const Type type = conv.type == Type::f32 ? Type::b32 : Type::b16;
  for (const Variant &v : variants())
    if (v.algorithm == Algorithm::pack && v.type == type && is_cuda(v.target) == is_cuda(conv.target))
      return &v;
  return nullptr;
}

std::string processor_lacks(Target target, const Machine &machine) {
  if (target == Target::cpu_avx2 && !machine.avx2)
    return "the processor lacks AVX2, FMA or F16C";
  if (target == Target::cpu_avx512 && !machine.avx512)
    return "the processor lacks AVX-512 (F, CD, BW, DQ, VL)";
  return "";
}

std::string does_not_fit(const Variant &v, const hconv_problem &p) {
  const PackedExtents packed = packed_extents(p, v);
  if (packed.elements < 0 || packed.elements >= element_limit)
    return text("its packed weights would have extents [%lld, %lld, %lld, %lld], 2^31 elements or more",
                wide(packed.ic), wide(packed.kh), wide(packed.kw), wide(packed.oc));
  if (!is_cuda(v.target))
    return "";
  const Geometry g = geometry_of(p);
  if (tiles(p.out_channels, v.tile_oc) > grid_y_limit)
    return text("OC = %lld needs more than %lld tiles", wide(p.out_channels), wide(grid_y_limit));
  if (tiles(g.output_width, v.tile_ow) > grid_y_limit)
    return text("OW = %lld needs more than %lld tiles", wide(g.output_width), wide(grid_y_limit));
  return "";
}

std::string needs_more_shared_memory(const Variant &v, const Machine &machine) {
  if (machine.shared_bytes_per_block == 0)
    return "";
  for (const KernelResources &r : kernel_resources())
    if (std::string(r.variant) == v.name && r.shared_bytes > machine.shared_bytes_per_block)
      return text("it needs %d bytes of shared memory, and the device has %lld a block", r.shared_bytes,
                  wide(machine.shared_bytes_per_block));
  return "";
}

bool matches(const Variant &v, const Rule &r) {
  const auto agrees = [](int32_t wanted, int32_t found) { return wanted == 0 || wanted == found; };
  return v.algorithm == Algorithm::direct && v.target == r.target && (r.types >> static_cast<int>(v.type) & 1) &&
         agrees(r.tile_oc, v.tile_oc) && agrees(r.tile_ow, v.tile_ow) && agrees(r.tile_oh, v.tile_oh) &&
         agrees(r.stages, v.stages) && agrees(r.warps, v.warps);
}

bool holds(const Rule &r, const Variant &v, const hconv_problem &p) {
  const Geometry g = geometry_of(p);
  if (!r.oc.holds(p.out_channels) || !r.ow.holds(g.output_width) || !r.kw.holds(p.kernel_width))
    return false;
  // Saturated: a batch beyond this many blocks satisfies every rule.
  int64_t blocks;
  const bool fits = product(&blocks, {p.batch, tiles(g.output_height, v.tile_oh), tiles(p.out_channels, v.tile_oc),
                                      tiles(g.output_width, v.tile_ow)});
  return !fits || blocks >= r.least_blocks;
}

const Variant *first_of(const Rule &rule, const hconv_problem &p, const std::vector<const Variant *> &serving) {
  const Variant *found = nullptr;
  for (const Variant *v : serving) {
    if (!matches(*v, rule) || !holds(rule, *v, p))
      continue;
    if (v->kw != 0) // made for this KW
      return v;
    if (!found)
      found = v;
  }
  return found;
}

hconv_status choose_pinned(const hconv_problem &p, const Machine &machine, const Environment &environment,
                           Choice *choice) {
  const char *pin = environment.variant.c_str();
  const Variant *v = find_variant(environment.variant);
  if (!v || v->algorithm == Algorithm::pack)
    return fail(HCONV_INVALID_ARGUMENT,
                "HCONV_VARIANT is '%s', which is no compiled convolution variant; expected a name that `hconv list` "
                "shows.",
                pin);
  // A pinned variant of the stock back end needs no HCONV_BACKEND besides.
  const std::string backend = is_cuda(v->target) ? name_of(v->target) : environment.backend;
  const std::string reason = why_not(*v, p, machine, backend);
  if (!reason.empty())
    return fail(HCONV_UNSUPPORTED, "HCONV_VARIANT pins %s, which cannot serve (%s): %s.", pin, text_of(p).c_str(),
                reason.c_str());
  choice->variant = v;
  choice->source = "pinned by HCONV_VARIANT";
  return HCONV_OK;
}

hconv_status nothing_serves(const hconv_problem &p, const std::vector<Declined> &declined) {
  // The most useful reason is one of a variant that is right for the type and the device.
  const char *reason = "no variant is compiled for this type and device";
  const Variant *nearest = nullptr;
  for (const Declined &d : declined) {
    Type type;
    if (type_of(p.dtype, &type) && d.variant->type == type &&
        is_cuda(d.variant->target) == (raw(p.device.device_type) == kDLCUDA)) {
      nearest = d.variant;
      reason = d.reason.c_str();
    }
  }
  return fail(HCONV_UNSUPPORTED, "No variant can compute %s; expected a problem that one of them serves: %s%s%s.",
              text_of(p).c_str(), nearest ? nearest->name : "", nearest ? " declines since " : "", reason);
}

} // namespace

PackedExtents packed_extents(const hconv_problem &p, const Variant &v) {
  PackedExtents e{round_up(p.out_channels, v.tile_oc), p.kernel_width, p.kernel_height, round_up(p.in_channels, v.ic),
                  0};
  if (!product(&e.elements, {e.oc, e.kw, e.kh, e.ic}))
    e.elements = -1;
  return e;
}

std::string why_not(const Variant &v, const hconv_problem &p, const Machine &machine, const std::string &backend) {
  Type type;
  if (!type_of(p.dtype, &type) || type != v.type)
    return text("it computes in %s, and the tensors are %s", name_of(v.type), text_of(p.dtype).c_str());
  const bool cuda = raw(p.device.device_type) == kDLCUDA;
  if (cuda != is_cuda(v.target))
    return text("it runs on %s, and the tensors are on %s", cuda ? "the CPU" : "CUDA", text_of(p.device).c_str());
  if (cuda && (v.target == Target::halide_ptx) != (backend == "halide_ptx"))
    return text("its back end is %s, and HCONV_BACKEND asks for %s", name_of(v.target),
                backend.empty() ? "cuda (the default)" : backend.c_str());
  if (std::string lacks = processor_lacks(v.target, machine); !lacks.empty())
    return lacks;
  if (v.kw != 0 && p.kernel_width % v.kw != 0)
    return text("it is made for KW that is a multiple of %d, and KW is %lld", v.kw, wide(p.kernel_width));
  if (v.kh_tile > 1 && p.kernel_height % v.kh_tile != 0)
    return text("it is made for KH that is a multiple of %d, and KH is %lld", v.kh_tile, wide(p.kernel_height));
  if (std::string reason = does_not_fit(v, p); !reason.empty())
    return reason;
  if (!pack_for(v))
    return "no pack kernel is compiled for its weights";
  return needs_more_shared_memory(v, machine);
}

hconv_status choose(const hconv_problem &p, const Machine &machine, const Environment &environment, Choice *choice) {
  const std::string &backend = environment.backend;
  if (!backend.empty() && backend != "cuda" && backend != "halide_ptx")
    return fail(HCONV_INVALID_ARGUMENT, "HCONV_BACKEND is '%s'; expected 'cuda' or 'halide_ptx'.", backend.c_str());
  *choice = {};
  if (!environment.variant.empty())
    if (hconv_status bad = choose_pinned(p, machine, environment, choice))
      return bad;
  std::vector<const Variant *> serving;
  for (const Variant &v : variants()) {
    if (v.algorithm == Algorithm::pack || &v == choice->variant)
      continue;
    std::string reason = why_not(v, p, machine, backend);
    if (!reason.empty())
      choice->declined.push_back({&v, std::move(reason)});
    else
      serving.push_back(&v);
  }
  int line = 0;
  for (const Rule &rule : dispatch_rules()) {
    if (choice->variant)
      break;
    ++line;
    choice->variant = first_of(rule, p, serving);
    choice->source = text("line %d of the dispatch table: %s", line, rule.because);
  }
  if (!choice->variant)
    return nothing_serves(p, choice->declined);
  for (const Variant *v : serving)
    if (v != choice->variant)
      choice->declined.push_back({v, "it could serve, but another one comes first: " + choice->source});
  choice->pack = pack_for(*choice->variant);
  return HCONV_OK;
}

} // namespace hconv::runtime
