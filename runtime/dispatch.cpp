#include "dispatch.h"

#include <algorithm>

#include "error.h"
#include "layout.h"
#include "split.h"
#include "tiling.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

// What one block of the pack kernels moves along their grids' y and z (generators/pack_weights, pack_input).
constexpr int32_t pack_oc = 8, pack_taps = 32, pack_input_columns = 32, pack_input_channels = 32;

/// The pack, pack_input or sum_parts kernel that fits a convolution variant: by element size or type, and memory.
const Variant *helper_for(const Variant &conv, Algorithm algorithm) {
  const Type type = algorithm == Algorithm::sum_parts ? conv.type : conv.type == Type::f32 ? Type::b32 : Type::b16;
  for (const Variant &v : variants())
    if (v.algorithm == algorithm && v.type == type && is_cuda(v.target) == is_cuda(conv.target) &&
        (algorithm != Algorithm::pack_input || v.layout == conv.layout))
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

std::string exceeds_pack_grids(const Variant &v, const hconv_problem &p) {
  const PackedExtents weights = packed_extents(p, v);
  if (tiles_of(weights.oc, pack_oc) > grid_y_limit || tiles_of(weights.kh * weights.kw, pack_taps) > grid_y_limit)
    return text(
        "its kernel that packs weights takes up to %lld output channels and %lld taps, and they are %lld and %lld",
        wide(grid_y_limit * pack_oc), wide(grid_y_limit * pack_taps), wide(weights.oc), wide(weights.kh * weights.kw));
  const PackedInput input = packed_input(p, v);
  if (tiles_of(input.width, pack_input_columns) > grid_y_limit ||
      tiles_of(input.ic, pack_input_channels) > grid_y_limit)
    return text("its kernel that packs x takes up to %lld columns and %lld channels, and they are %lld and %lld",
                wide(grid_y_limit * pack_input_columns), wide(grid_y_limit * pack_input_channels), wide(input.width),
                wide(input.ic));
  return "";
}

std::string does_not_fit(const Variant &v, const hconv_problem &p) {
  const PackedExtents packed = packed_extents(p, v);
  if (packed.elements < 0 || packed.elements >= element_limit)
    return text("its packed weights would have extents [%lld, %lld, %lld, %lld], 2^31 elements or more",
                wide(packed.ic), wide(packed.kh), wide(packed.kw), wide(packed.oc));
  const PackedInput input = packed_input(p, v);
  if (input.image < 0 || input.image >= element_limit)
    return text("its packed input would have [%lld, %lld, %lld] elements an image, 2^31 or more", wide(input.height),
                wide(input.width), wide(input.ic));
  if (!is_cuda(v.target))
    return "";
  const Geometry g = geometry_of(p);
  if (tiles_of(p.out_channels, v.tile_oc) > grid_y_limit)
    return text("OC = %lld needs more than %lld tiles", wide(p.out_channels), wide(grid_y_limit));
  if (tiles_of(g.output_width, v.tile_ow) > grid_y_limit)
    return text("OW = %lld needs more than %lld tiles", wide(g.output_width), wide(grid_y_limit));
  return exceeds_pack_grids(v, p);
}

std::string does_not_transform(const Variant &v, const hconv_problem &p, const Machine &machine) {
  if (raw(p.math) == HCONV_MATH_STRICT)
    return "it computes in the transform domain, and HCONV_MATH_STRICT asks for float32 multiply-adds of x and w only";
  if (p.kernel_height > v.fft_h || p.kernel_width > v.fft_w)
    return text("its tiles have %d x %d pixels, and the kernel %lld x %lld", v.fft_h, v.fft_w, wide(p.kernel_height),
                wide(p.kernel_width));
  std::string reason;
  if (!product_for(v, p, machine, &reason))
    return reason;
  return needs_more_shared_memory(v, machine);
}

/// A convolution variant that can serve, and of transform the product kernel that goes with it.
struct Candidate {
  const Variant *variant;
  const Variant *product;
};

/// The cheapest candidate; of equals one made for this KW, and then the first. No variant if there is none.
Candidate cheapest(const std::vector<Candidate> &serving, const hconv_problem &p, const Machine &machine, Cost *cost) {
  Candidate best{};
  for (const Candidate &next : serving) {
    const Cost c = cost_of(*next.variant, next.product, p, machine);
    if (!best.variant || c.value < cost->value ||
        (c.value == cost->value && next.variant->kw != 0 && best.variant->kw == 0)) {
      best = next;
      *cost = c;
    }
  }
  return best;
}

void take(const Candidate &candidate, std::string source, Choice *choice) {
  choice->variant = candidate.variant;
  choice->product = candidate.product;
  choice->source = std::move(source);
}

/// The cheapest of the best target's variants, and of equals the first.
void choose_on_cpu(const std::vector<Candidate> &serving, const hconv_problem &p, Choice *choice) {
  for (const Preference &preference : cpu_preferences()) {
    double least = 0;
    for (const Candidate &next : serving) {
      if (next.variant->target != preference.target)
        continue;
      const double cost = cpu_cost_of(*next.variant, next.product, p);
      if (!choice->variant || cost < least) {
        take(next, preference.because, choice);
        least = cost;
      }
    }
    if (choice->variant)
      return;
  }
}

/// Adds the variants that could serve as well, and finds the cheapest of them.
void compare_others(std::vector<Candidate> others, const hconv_problem &p, const Machine &machine, Choice *choice) {
  others.erase(std::remove_if(others.begin(), others.end(),
                              [choice](const Candidate &other) { return other.variant == choice->variant; }),
               others.end());
  const bool cuda = is_cuda(choice->variant->target);
  if (cuda) {
    choice->cost = cost_of(*choice->variant, choice->product, p, machine, choice->parts);
    choice->runner_up = cheapest(others, p, machine, &choice->runner_up_cost).variant;
  }
  for (const Candidate &other : others) {
    std::string reason = "it could serve, but another one comes first: " + choice->source;
    if (cuda)
      reason += text(" (its cost is %.6g, not %.6g)", cost_of(*other.variant, other.product, p, machine).value,
                     choice->cost.value);
    choice->declined.push_back({other.variant, std::move(reason)});
  }
}

/// The product kernel of a pin, named behind a '+' or, without one, the cheapest.
hconv_status pinned_product(const Variant &transform, const std::string &name, const hconv_problem &p,
                            const Machine &machine, const Variant **product) {
  std::string reason;
  if (name.empty()) {
    *product = product_for(transform, p, machine, &reason);
    return HCONV_OK; // the caller has asked whether there is one
  }
  *product = find_variant(name);
  if (!*product || (*product)->algorithm != Algorithm::spectral_product)
    return fail(HCONV_INVALID_ARGUMENT,
                "HCONV_VARIANT names the product '%s', which is no compiled spectral_product variant; expected a name "
                "that `hconv list` shows.",
                name.c_str());
  reason = why_not_product(**product, transform, p, machine);
  if (!reason.empty())
    return fail(HCONV_UNSUPPORTED, "HCONV_VARIANT pins %s for %s, which cannot serve (%s): %s.", name.c_str(),
                transform.name, text_of(p).c_str(), reason.c_str());
  return HCONV_OK;
}

hconv_status choose_pinned(const hconv_problem &p, const Machine &machine, const Environment &environment,
                           Choice *choice) {
  const size_t plus = environment.variant.find('+');
  const std::string name = environment.variant.substr(0, plus);
  const char *pin = name.c_str();
  const Variant *v = find_variant(name);
  if (!v || !is_convolution(v->algorithm) ||
      (plus != std::string::npos && v->algorithm != Algorithm::transform && !v->split))
    return fail(HCONV_INVALID_ARGUMENT,
                "HCONV_VARIANT is '%s', which is no compiled convolution variant; expected a name that `hconv list` "
                "shows, behind it if wanted a '+' and, of a transform variant, the name of a spectral_product variant "
                "or, of a split variant, the number of parts.",
                environment.variant.c_str());
  // A pinned variant of the stock back end needs no HCONV_BACKEND besides.
  const std::string backend = is_cuda(v->target) ? name_of(v->target) : environment.backend;
  const std::string reason = why_not(*v, p, machine, backend);
  if (!reason.empty())
    return fail(HCONV_UNSUPPORTED, "HCONV_VARIANT pins %s, which cannot serve (%s): %s.", pin, text_of(p).c_str(),
                reason.c_str());
  Candidate candidate{v, nullptr};
  const std::string second = plus == std::string::npos ? "" : environment.variant.substr(plus + 1);
  if (v->algorithm == Algorithm::transform) {
    if (hconv_status bad = pinned_product(*v, second, p, machine, &candidate.product))
      return bad;
  } else if (plus != std::string::npos)
    if (std::string fault = read_parts(second, *v, p, &choice->parts); !fault.empty())
      return fail(HCONV_UNSUPPORTED, "HCONV_VARIANT pins %s, which cannot serve (%s): %s.", environment.variant.c_str(),
                  text_of(p).c_str(), fault.c_str());
  take(candidate, "pinned by HCONV_VARIANT", choice);
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

std::string needs_more_shared_memory(const Variant &v, const Machine &machine) {
  if (machine.shared_bytes_per_block == 0)
    return "";
  for (const KernelResources &r : kernel_resources())
    if (belongs(r, v) && r.shared_bytes > machine.shared_bytes_per_block)
      return text("it needs %d bytes of shared memory, and the device has %lld a block", r.shared_bytes,
                  wide(machine.shared_bytes_per_block));
  return "";
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
  if (v.algorithm == Algorithm::wgmma && machine.capability != 90)
    return text("it is machine code for compute capability 9.0 alone, and the device has %d.%d",
                machine.capability / 10, machine.capability % 10);
  if (on_tensor_cores(v.algorithm) && raw(p.math) == HCONV_MATH_STRICT)
    return "it sums on tensor cores, and HCONV_MATH_STRICT asks for float32 multiply-adds only";
  if (conversion_of(p, v).bytes() && !helper_for(v, Algorithm::transpose))
    return text("it reads and writes %s, the tensors are %s, and no transpose kernel is compiled for the conversion",
                is_nhwc(p) ? "NCHW" : "NHWC", is_nhwc(p) ? "NHWC" : "NCHW");
  if (v.algorithm == Algorithm::transform)
    return does_not_transform(v, p, machine);
  if (v.layout == HCONV_LAYOUT_NHWC && p.out_channels % channel_piece)
    return text("it writes %lld channels at once, and OC is %lld", wide(channel_piece), wide(p.out_channels));
  if (v.kw != 0 && p.kernel_width % v.kw != 0)
    return text("it is made for KW that is a multiple of %d, and KW is %lld", v.kw, wide(p.kernel_width));
  if (v.kh_tile > 1 && p.kernel_height % v.kh_tile != 0)
    return text("it is made for KH that is a multiple of %d, and KH is %lld", v.kh_tile, wide(p.kernel_height));
  if (std::string reason = does_not_fit(v, p); !reason.empty())
    return reason;
  if (!helper_for(v, Algorithm::pack))
    return "no pack kernel is compiled for its weights";
  if (packed_input(p, v).image != 0 && !helper_for(v, Algorithm::pack_input))
    return "no pack_input kernel is compiled for its input";
  if (v.split && !helper_for(v, Algorithm::sum_parts))
    return "no sum_parts kernel is compiled for its parts";
  return needs_more_shared_memory(v, machine);
}

hconv_status choose(const hconv_problem &p, const Machine &machine, const Environment &environment, Choice *choice) {
  const std::string &backend = environment.backend;
  if (!backend.empty() && backend != "cuda" && backend != "halide_ptx")
    return fail(HCONV_INVALID_ARGUMENT, "HCONV_BACKEND is '%s'; expected 'cuda' or 'halide_ptx'.", backend.c_str());
  if (!environment.tuned_fault.empty())
    return fail(HCONV_INVALID_ARGUMENT, "%s", environment.tuned_fault.c_str());
  *choice = {};
  if (!environment.variant.empty()) {
    if (hconv_status bad = choose_pinned(p, machine, environment, choice))
      return bad;
  } else if (environment.ask_tuned) {
    choice->tuned = tuned_choice(p, machine, environment);
    if (choice->tuned.variant)
      take({choice->tuned.variant, choice->tuned.product}, source_of(choice->tuned), choice);
    choice->parts = choice->tuned.parts;
  }
  std::vector<Candidate> serving;
  for (const Variant &v : variants()) {
    if (!is_convolution(v.algorithm) || &v == choice->variant)
      continue;
    std::string reason = why_not(v, p, machine, backend);
    if (!reason.empty())
      choice->declined.push_back({&v, std::move(reason)});
    else
      serving.push_back({&v, v.algorithm == Algorithm::transform ? product_for(v, p, machine, &reason) : nullptr});
  }
  if (!choice->variant && raw(p.device.device_type) == kDLCUDA)
    take(cheapest(serving, p, machine, &choice->cost), "the least cost", choice);
  else if (!choice->variant)
    choose_on_cpu(serving, p, choice);
  if (!choice->variant)
    return nothing_serves(p, choice->declined);
  if (choice->variant->split) {
    choice->sum_parts = helper_for(*choice->variant, Algorithm::sum_parts);
    choice->parts = choice->parts ? choice->parts : parts_for(*choice->variant, p, machine);
  }
  compare_others(serving, p, machine, choice);
  if (choice->variant->algorithm != Algorithm::transform)
    choice->pack = helper_for(*choice->variant, Algorithm::pack);
  if (conversion_of(p, *choice->variant).bytes() || choice->product)
    choice->transpose = helper_for(*choice->variant, Algorithm::transpose);
  if (packed_input(p, *choice->variant).image != 0)
    choice->pack_input = helper_for(*choice->variant, Algorithm::pack_input);
  return HCONV_OK;
}

} // namespace hconv::runtime
