#include "warpgroup_products.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace hconv::emulator {
namespace {

constexpr int kRows = 16, kDepth = 16, kWarps = 4;
constexpr int kPiece = 8;                // elements of 16 bytes, which a swizzle keeps together
constexpr uintptr_t kSharedStart = 1024; // the address of a block's dynamic shared memory on the device

/// What the bits of a descriptor say (PTX ISA, matrix descriptor of wgmma).
struct Descriptor {
  uintptr_t start;   // byte address of row 0, column 0
  uintptr_t leading; // without a swizzle: bytes from 8 columns to the next 8
  uintptr_t stride;  // bytes from 8 rows to the next 8
  unsigned offset;   // base offset
  uintptr_t swizzle; // bytes: 128, 64, 32, or 0 for none

  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4), stride((bits >> 32 & 0x3fff) << 4),
        offset(unsigned(bits >> 49 & 7)) {
    constexpr uintptr_t sizes[] = {0, 128, 64, 32};
    swizzle = sizes[bits >> 62];
  }

  /// Byte address of element k of row n, K-major. Without a swizzle 8 rows of 8 elements lie one behind the other; with
  /// one, rows are as long as it is wide.
  uintptr_t address(int n, int k) const {
    if (swizzle == 0)
      return start + uintptr_t(n / 8) * stride + uintptr_t(n % 8) * 16 + uintptr_t(k / 8) * leading +
             uintptr_t(k % 8) * 2;
    const uintptr_t plain = start + uintptr_t(n / 8) * stride + uintptr_t(n % 8) * swizzle + uintptr_t(k) * 2;
    return plain ^ (plain >> 7 & (swizzle / 16 - 1)) << 4;
  }
};

float value(twin::Tile tile, unsigned word, int index) {
  const auto bits = static_cast<uint16_t>(word >> (16 * index));
  return tile == twin::Tile::m16n8k16_bf16 ? bfloat16_value(bits) : half_value(bits);
}

template <typename... Values> std::string sentence(const char *format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// 16 elements of row n of an operand in shared memory. Returns a sentence where they cannot be read.
std::string read_row(const char *operand, const Descriptor &descriptor, int n, const unsigned char *shared,
                     size_t shared_bytes, const UnfencedWrites &unfenced, uint16_t (&bits)[kDepth]) {
  for (int k = 0; k < kDepth; k += kPiece) {
    const uintptr_t offset = descriptor.address(n, k) - kSharedStart;
    if (offset > shared_bytes || shared_bytes - offset < kPiece * sizeof *bits)
      return sentence("wgmma: row %d of %s at offset %lld does not lie in the block's %zu bytes of shared memory", n,
                      operand, static_cast<long long>(offset), shared_bytes);
    if (unfenced.holds(offset))
      return sentence("wgmma: row %d of %s at offset %lld was written by cp.async with no fence.proxy.async since", n,
                      operand, static_cast<long long>(offset));
    std::memcpy(bits + k, shared + offset, kPiece * sizeof *bits);
  }
  return {};
}

std::string multiply_add(const twin::WarpgroupProduct (&lanes)[kWarpLanes], size_t warp, const unsigned char *shared,
                         size_t shared_bytes, const UnfencedWrites &unfenced) {
  const twin::WarpgroupProduct &first = lanes[0];
  const Descriptor descriptor(first.descriptor), a_descriptor(first.a_descriptor);
  for (const uint64_t bits : {first.descriptor, first.a_descriptor})
    if (Descriptor(bits).offset != 0)
      return sentence("wgmma: the descriptor %llx has a base offset, which is not emulated",
                      static_cast<unsigned long long>(bits));
  float a[kDepth][kRows]; // register i of A: row g + 8 * (i % 2), columns 2 * q + 8 * (i / 2) and the next one
  bool finite = true;
  for (int lane = 0; first.a && lane < kWarpLanes; ++lane)
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half) {
        const float x = value(first.tile, lanes[lane].a[i], half);
        a[2 * (lane % 4) + 8 * (i / 2) + half][lane / 4 + 8 * (i % 2)] = x;
        finite &= std::isfinite(x);
      }
  for (int row = 0; !first.a && row < kRows; ++row) {
    uint16_t bits[kDepth];
    const int of_64 = kRows * int(warp % kWarps) + row;
    std::string refusal = read_row("A", a_descriptor, of_64, shared, shared_bytes, unfenced, bits);
    if (!refusal.empty())
      return refusal;
    for (int k = 0; k < kDepth; ++k) {
      a[k][row] = value(first.tile, bits[k], 0);
      finite &= std::isfinite(a[k][row]);
    }
  }
  for (int column = 0; column < first.columns; ++column) {
    uint16_t bits[kDepth];
    std::string refusal = read_row("B", descriptor, column, shared, shared_bytes, unfenced, bits);
    if (!refusal.empty())
      return refusal;
    // Sums start at +0, so products with 0 leave them as they are. Most of a small problem's tile is padding.
    if (finite && std::all_of(bits, bits + kDepth, [](uint16_t x) { return x == 0; }))
      continue;
    float b[kDepth];
    for (int k = 0; k < kDepth; ++k)
      b[k] = value(first.tile, bits[k], 0);
    // Register 4 t + 2 h + p: row g + 8 h, column 8 t + 2 q + p.
    const int tile = column / 8, quad = column % 8 / 2, pair = column % 2;
    float *sums[kRows], sum[kRows];
    for (int row = 0; row < kRows; ++row) {
      const twin::WarpgroupProduct &owner = lanes[row % 8 * 4 + quad];
      sums[row] = owner.sums + tile * owner.next_tile + row / 8 * owner.next_half + pair * owner.next_pair;
      sum[row] = *sums[row];
    }
    for (int k = 0; k < kDepth; ++k) // rows innermost: they are vectors of the host
      for (int row = 0; row < kRows; ++row)
        sum[row] += a[k][row] * b[k];
    for (int row = 0; row < kRows; ++row)
      *sums[row] = sum[row];
  }
  return {};
}

} // namespace

void UnfencedWrites::start(const unsigned char *shared, size_t shared_bytes, size_t threads) {
  shared_ = shared;
  writer_.assign(shared_bytes / 16 + 1, 0);
  written_.assign(threads, {});
}

void UnfencedWrites::note(size_t thread, const void *address, int bytes) {
  const auto offset = static_cast<size_t>(static_cast<const unsigned char *>(address) - shared_);
  for (size_t piece = offset / 16; piece <= (offset + size_t(bytes) - 1) / 16; ++piece) {
    writer_[piece] = static_cast<uint32_t>(thread) + 1;
    written_[thread].push_back(static_cast<uint32_t>(piece));
  }
}

void UnfencedWrites::fence(size_t thread) {
  for (const uint32_t piece : written_[thread])
    if (writer_[piece] == thread + 1)
      writer_[piece] = 0;
  written_[thread].clear();
}

void WarpgroupProducts::start(size_t warps) {
  warps_.assign(warps, {});
  descriptors_.assign((warps + kWarps - 1) / kWarps, {});
}

std::string WarpgroupProducts::issue(size_t warp, const Collective *const (&lanes)[kWarpLanes]) {
  Warp &w = warps_[warp];
  if (!w.fenced)
    return "wgmma: no wgmma.fence since registers were written";
  if (warp / kWarps * kWarps + kWarps > warps_.size())
    return sentence("wgmma: warp %zu of %zu belongs to no whole warpgroup", warp, warps_.size());
  std::vector<Descriptors> &sequence = descriptors_[warp / kWarps];
  const twin::WarpgroupProduct &called = lanes[0]->product;
  const Descriptors descriptors = {called.a_descriptor, called.descriptor};
  if (w.issued == sequence.size())
    sequence.push_back(descriptors);
  for (size_t i = 0; i < descriptors.size(); ++i)
    if (sequence[w.issued][i] != descriptors[i])
      return sentence("wgmma: product %zu has the descriptor %llx of %c, in another warp of the warpgroup %llx",
                      w.issued, static_cast<unsigned long long>(descriptors[i]), "AB"[i],
                      static_cast<unsigned long long>(sequence[w.issued][i]));
  ++w.issued;
  Product &product = w.pending.emplace_back();
  for (int lane = 0; lane < kWarpLanes; ++lane)
    product.lanes[lane] = lanes[lane]->product;
  return {};
}

std::string WarpgroupProducts::perform(size_t warp, const Collective *const (&lanes)[kWarpLanes], bool early,
                                       unsigned char *shared, size_t shared_bytes, const UnfencedWrites &unfenced) {
  Warp &w = warps_[warp];
  size_t happening = 0; // of the pending products
  switch (lanes[0]->kind) {
  case Collective::Kind::warpgroup_fence:
    w.fenced = true;
    break;
  case Collective::Kind::warpgroup_product: {
    std::string refusal = issue(warp, lanes);
    if (!refusal.empty())
      return refusal;
    happening = early ? w.pending.size() : 0;
    break;
  }
  case Collective::Kind::warpgroup_commit:
    w.group_ends.push_back(w.pending.size());
    break;
  case Collective::Kind::warpgroup_wait: {
    const auto left = static_cast<size_t>(lanes[0]->groups_left);
    if (w.group_ends.size() > left) {
      const size_t groups = w.group_ends.size() - left;
      happening = w.group_ends[groups - 1];
      w.group_ends.erase(w.group_ends.begin(), w.group_ends.begin() + static_cast<std::ptrdiff_t>(groups));
    }
    break;
  }
  default:
    break;
  }
  for (size_t i = 0; i < happening; ++i) {
    std::string refusal = multiply_add(w.pending[i].lanes, warp, shared, shared_bytes, unfenced);
    if (!refusal.empty())
      return refusal;
  }
  w.pending.erase(w.pending.begin(), w.pending.begin() + static_cast<std::ptrdiff_t>(happening));
  for (size_t &end : w.group_ends)
    end -= std::min(end, happening);
  return {};
}

std::string WarpgroupProducts::at_exit() const {
  for (size_t warp = 0; warp < warps_.size(); ++warp) {
    if (!warps_[warp].pending.empty())
      return sentence("warp %zu exited with %zu wgmma under way", warp, warps_[warp].pending.size());
    const size_t expected = descriptors_[warp / kWarps].size();
    if (warps_[warp].issued != expected)
      return sentence("warp %zu issued %zu wgmma, another warp of its warpgroup %zu", warp, warps_[warp].issued,
                      expected);
  }
  return {};
}

} // namespace hconv::emulator
