#include "variants.h"

#include <cstring>
#include <iterator>
#include <type_traits>

#include "run_context.h"

// variants.inc is written from the manifest into the build tree; every row declares its ahead-of-time function here.
extern "C" {
#define HCONV_CONV_ARGUMENTS                                                                                           \
  const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, int32_t, int32_t, int32_t
#define HCONV_DECLARE_for_cuda(name) int name(HCONV_CONV_ARGUMENTS, halide_buffer_t *);
#define HCONV_DECLARE_for_halide_ptx(name) HCONV_DECLARE_for_cuda(name)
#define HCONV_DECLARE_for_cpu_baseline(name)                                                                           \
  int name(HCONV_CONV_ARGUMENTS, int32_t block_ic, int32_t task_oh, int32_t task_oc, int32_t task_b, halide_buffer_t *);
#define HCONV_DECLARE_for_cpu_avx2(name) HCONV_DECLARE_for_cpu_baseline(name)
#define HCONV_DECLARE_for_cpu_avx512(name) HCONV_DECLARE_for_cpu_baseline(name)
#define HCONV_DECLARE_direct(name, target) HCONV_DECLARE_for_##target(name)
#define HCONV_DECLARE_mma(name, target) HCONV_DECLARE_for_##target(name)
#define HCONV_DECLARE_wgmma(name, target) HCONV_DECLARE_for_##target(name)
#define HCONV_DECLARE_pack(name, target) int name(const void *, halide_buffer_t *, halide_buffer_t *);
#define HCONV_DECLARE_transpose(name, target) HCONV_DECLARE_pack(name, target)
#define HCONV_DECLARE_pack_input(name, target)                                                                         \
  int name(const void *, halide_buffer_t *, int32_t, int32_t, halide_buffer_t *);
#define HCONV_DECLARE_transform(name, target)                                                                          \
  int name##_input(const void *, halide_buffer_t *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t,     \
                   halide_buffer_t *);                                                                                 \
  int name##_weights(const void *, halide_buffer_t *, halide_buffer_t *);                                              \
  int name##_output(const void *, halide_buffer_t *, halide_buffer_t *, int32_t, int32_t, int32_t, int32_t, int32_t,   \
                    int32_t, halide_buffer_t *);
#define HCONV_DECLARE_spectral_product(name, target)                                                                   \
  int name(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *);
#define HCONV_DECLARE_sum_parts(name, target)                                                                          \
  int name(const void *, halide_buffer_t *, halide_buffer_t *, int32_t, int32_t, halide_buffer_t *);
#define HCONV_VARIANT(name, algorithm, type, target, ...) HCONV_DECLARE_##algorithm(name, target)
#include "variants.inc"
#undef HCONV_VARIANT
}

namespace hconv::runtime {
namespace {

/// A CPU variant is told besides how to cut the work.
template <auto function> constexpr ConvFunction with_tasks() {
  if constexpr (std::is_same_v<decltype(function), ConvFunction>)
    return function;
  else
    return [](const void *user_context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *bias, int32_t has_bias,
              int32_t pad_top, int32_t pad_left, halide_buffer_t *y) {
      const CpuTasks &t = *RunContext::from(user_context)->tasks;
      return function(user_context, x, w, bias, has_bias, pad_top, pad_left, t.block_ic, t.rows, t.channels, t.images,
                      y);
    };
}

#define HCONV_FUNCTIONS_direct(name) with_tasks<name>(), nullptr, nullptr, {}, nullptr, nullptr, nullptr
#define HCONV_FUNCTIONS_mma(name) HCONV_FUNCTIONS_direct(name)
#define HCONV_FUNCTIONS_wgmma(name) HCONV_FUNCTIONS_direct(name)
#define HCONV_FUNCTIONS_pack(name) nullptr, name, nullptr, {}, nullptr, nullptr, nullptr
#define HCONV_FUNCTIONS_pack_input(name) nullptr, nullptr, name, {}, nullptr, nullptr, nullptr
#define HCONV_FUNCTIONS_transform(name)                                                                                \
  nullptr, nullptr, nullptr, {name##_input, name##_weights, name##_output}, nullptr, nullptr, nullptr
#define HCONV_FUNCTIONS_spectral_product(name) nullptr, nullptr, nullptr, {}, name, nullptr, nullptr
#define HCONV_FUNCTIONS_transpose(name) nullptr, nullptr, nullptr, {}, nullptr, name, nullptr
#define HCONV_FUNCTIONS_sum_parts(name) nullptr, nullptr, nullptr, {}, nullptr, nullptr, name
#define HCONV_VARIANT(name, algorithm, type, target, ...)                                                              \
  {#name, Algorithm::algorithm, Type::type, Target::target, __VA_ARGS__, HCONV_FUNCTIONS_##algorithm(name)},
constexpr Variant variant_rows[] = {
#include "variants.inc"
};
#undef HCONV_VARIANT

// The first row keeps the array legal where no CUDA variant is compiled.
#define HCONV_KERNEL_RESOURCES(function, kernel, arch, registers, spill_stores, spill_loads, shared, threads)          \
  {#function, #kernel, #arch, registers, spill_stores, spill_loads, shared, threads},
constexpr KernelResources resource_rows[] = {
    {"", "", "", 0, 0, 0, 0, 0},
#if __has_include("variant_resources.inc")
#include "variant_resources.inc"
#endif
};
#undef HCONV_KERNEL_RESOURCES

} // namespace

Table<Variant> variants() {
  return {std::begin(variant_rows), std::end(variant_rows)};
}
Table<KernelResources> kernel_resources() {
  return {std::begin(resource_rows) + 1, std::end(resource_rows)};
}

bool belongs(const KernelResources &kernel, const Variant &variant) {
  const size_t length = std::strlen(variant.name);
  if (std::strncmp(kernel.function, variant.name, length) != 0)
    return false;
  const char *suffix = kernel.function + length;
  const auto is = [suffix](const char *text) { return std::strcmp(suffix, text) == 0; };
  return is("") || (variant.algorithm == Algorithm::transform && (is("_input") || is("_weights") || is("_output")));
}

const Variant *find_variant(const std::string &name) {
  for (const Variant &variant : variants())
    if (name == variant.name)
      return &variant;
  return nullptr;
}

const char *name_of(Algorithm algorithm) {
  constexpr const char *names[] = {"direct", "mma",        "wgmma",     "transform", "spectral_product",
                                   "pack",   "pack_input", "transpose", "sum_parts"};
  return names[static_cast<int>(algorithm)];
}

const char *name_of(Type type) {
  constexpr const char *names[] = {"f32", "bf16", "f16", "b32", "b16"};
  return names[static_cast<int>(type)];
}

const char *name_of(Target target) {
  constexpr const char *names[] = {"cuda", "halide_ptx", "cpu", "cpu_baseline", "cpu_avx2", "cpu_avx512"};
  return names[static_cast<int>(target)];
}

bool is_cuda(Target target) {
  return target == Target::cuda || target == Target::halide_ptx;
}

bool is_convolution(Algorithm algorithm) {
  return algorithm == Algorithm::direct || on_tensor_cores(algorithm) || algorithm == Algorithm::transform;
}

bool on_tensor_cores(Algorithm algorithm) {
  return algorithm == Algorithm::mma || algorithm == Algorithm::wgmma;
}

} // namespace hconv::runtime
