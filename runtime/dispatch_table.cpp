// The order of preference, read from top to bottom: the first line whose conditions hold and of which a compiled
// variant can serve decides. Among variants of one line, one made for exactly this KW comes first, then the manifest's
// order.
#include <iterator>

#include "dispatch.h"

namespace hconv::runtime {
namespace {

constexpr int f32 = 1 << static_cast<int>(Type::f32);
constexpr int bf16 = 1 << static_cast<int>(Type::bf16);
constexpr int f16 = 1 << static_cast<int>(Type::f16);
constexpr int all = f32 | bf16 | f16;
constexpr Range64 any{};
constexpr Range64 up_to(int64_t most) {
  return {0, most};
}
constexpr Range64 from(int64_t least) {
  return {least, INT64_MAX};
}

// A tile that fills the device (blocks: one for each of an H200's 132 multiprocessors) and wastes little of its area.
// clang-format off
constexpr Rule rules[] = {
    // target             types  OC         OW          KW   blocks  tile: OC  OW  OH stages warps
    {Target::cuda,        all, up_to(32),  from(97),   any, 132,          32, 128, 0, 0, 0, "few output channels, wide rows"},
    {Target::cuda,        all, up_to(32),  any,        any, 0,            32,  64, 0, 0, 0, "few output channels"},
    {Target::cuda,        all, any,        up_to(32),  any, 0,            64,  32, 0, 0, 0, "rows of at most 32 outputs"},
    {Target::cuda,        all, any,        from(97),   any, 132,          64, 128, 0, 0, 0, "wide rows, enough blocks"},
    {Target::cuda,        all, any,        from(33),   any, 132,          64,  64, 0, 0, 0, "enough blocks"},
    {Target::cuda,        all, any,        any,        any, 0,            32,  64, 0, 0, 0, "few blocks"},
    {Target::cuda,        all, any,        any,        any, 0,             0,   0, 0, 0, 0, "any CUDA variant"},
    {Target::halide_ptx,  all, any,        any,        any, 0,             0,   0, 0, 0, 0, "HCONV_BACKEND=halide_ptx"},
    {Target::cpu_avx512,  all, any,        any,        any, 0,             0,   0, 0, 0, 0, "the processor has AVX-512"},
    {Target::cpu_avx2,    all, any,        any,        any, 0,             0,   0, 0, 0, 0, "the processor has AVX2"},
    {Target::cpu_baseline,all, any,        any,        any, 0,             0,   0, 0, 0, 0, "any x86-64 processor"},
};
// clang-format on

} // namespace

Table<Rule> dispatch_rules() {
  return {std::begin(rules), std::end(rules)};
}

} // namespace hconv::runtime
