#include "collectives.h"

#include <cstdio>
#include <cstring>

namespace hconv::emulator {
namespace {

constexpr int kRows = 16, kColumns = 8; // of the tile of D, in every mma shape

/// In a fragment register of 16-bit elements, the low half is the element of the lower index.
uint16_t half_word(unsigned word, int index) {
  return static_cast<uint16_t>(word >> (16 * index));
}

float bfloat16_element(unsigned word, int index) {
  return bfloat16_value(half_word(word, index));
}
float float16_element(unsigned word, int index) {
  return half_value(half_word(word, index));
}

/// A[16][16] row major and B[16][8] from the fragments of m16n8k16: with group = lane / 4 and quad = lane % 4,
/// register i of A holds row group + 8 * (i % 2), columns 2 * quad + 8 * (i / 2) and the next one; register i of B
/// holds column group, rows 2 * quad + 8 * i and the next one.
template <typename Element>
void gather_16_bit(const Collective *const (&lanes)[kWarpLanes], Element element, float (&a)[kRows][16],
                   float (&b)[16][kColumns]) {
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    const int group = lane / 4, quad = lane % 4;
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i)
        a[group + 8 * (i % 2)][2 * quad + 8 * (i / 2) + half] = element(lanes[lane]->a[i], half);
      for (int i = 0; i < 2; ++i)
        b[2 * quad + 8 * i + half][group] = element(lanes[lane]->b[i], half);
    }
  }
}

/// A[16][8] and B[8][8] from the fragments of m16n8k8 tf32: register i of A holds row group + 8 * (i % 2), column
/// quad + 4 * (i / 2); register i of B holds row quad + 4 * i, column group. The device reads the upper 19 bits only.
void gather_tf32(const Collective *const (&lanes)[kWarpLanes], float (&a)[kRows][16], float (&b)[16][kColumns]) {
  constexpr unsigned kTf32Mask = 0xffffe000u;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    const int group = lane / 4, quad = lane % 4;
    for (int i = 0; i < 4; ++i)
      a[group + 8 * (i % 2)][quad + 4 * (i / 2)] = twin::float_of(lanes[lane]->a[i] & kTf32Mask);
    for (int i = 0; i < 2; ++i)
      b[quad + 4 * i][group] = twin::float_of(lanes[lane]->b[i] & kTf32Mask);
  }
}

void multiply_add(const Collective *const (&lanes)[kWarpLanes]) {
  float a[kRows][16], b[16][kColumns], d[kRows][kColumns];
  int depth = 16;
  switch (lanes[0]->tile) {
  case twin::Tile::m16n8k16_bf16:
    gather_16_bit(lanes, bfloat16_element, a, b);
    break;
  case twin::Tile::m16n8k16_f16:
    gather_16_bit(lanes, float16_element, a, b);
    break;
  case twin::Tile::m16n8k8_tf32:
    gather_tf32(lanes, a, b);
    depth = 8;
    break;
  }
  // Register i of D holds row group + 8 * (i / 2), column 2 * quad + i % 2.
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int i = 0; i < 4; ++i)
      d[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2] = lanes[lane]->d[i];
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < depth; ++k)
      for (int column = 0; column < kColumns; ++column)
        d[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int i = 0; i < 4; ++i)
      lanes[lane]->d[i] = d[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
}

/// Of the four lanes of a quad, lane q gets lane j's register q as register j.
void exchange_quads(const Collective *const (&lanes)[kWarpLanes]) {
  unsigned old[kWarpLanes][4];
  for (int lane = 0; lane < kWarpLanes; ++lane)
    std::memcpy(old[lane], lanes[lane]->r, sizeof old[lane]);
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int j = 0; j < 4; ++j)
      lanes[lane]->r[j] = old[lane / 4 * 4 + j][lane % 4];
}

/// Lane 4 * g + q holds elements 2 * q and the next one of row g, and gets those of column g.
void transpose_matrix(const Collective *const (&lanes)[kWarpLanes]) {
  uint16_t elements[8][8];
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int i = 0; i < 2; ++i)
      elements[lane / 4][lane % 4 * 2 + i] = half_word(*lanes[lane]->r, i);
  for (int lane = 0; lane < kWarpLanes; ++lane)
    *lanes[lane]->r = elements[lane % 4 * 2][lane / 4] | unsigned(elements[lane % 4 * 2 + 1][lane / 4]) << 16;
}

/// Lane 8 * m + i gives the address of row i of matrix m: 8 elements of 16 bits. Register m of a lane receives elements
/// 2 * (lane % 4) and the next one of row lane / 4 of matrix m, or of its column lane / 4 when transposed.
std::string load_matrices(const Collective *const (&lanes)[kWarpLanes], const unsigned char *shared,
                          size_t shared_bytes) {
  constexpr int kSide = 8;
  constexpr size_t kRowBytes = 16;
  const int matrices = lanes[0]->matrices;
  uint16_t elements[4][kSide][kSide];
  for (int lane = 0; lane < kSide * matrices; ++lane) {
    const auto address = reinterpret_cast<uintptr_t>(lanes[lane]->row);
    const uintptr_t offset = address - reinterpret_cast<uintptr_t>(shared);
    char text[160];
    if (address % kRowBytes != 0) {
      std::snprintf(text, sizeof text, "ldmatrix: the row address of lane %d is not a multiple of 16 bytes", lane);
      return text;
    }
    if (offset > shared_bytes || shared_bytes - offset < kRowBytes) {
      std::snprintf(
          text, sizeof text,
          "ldmatrix: the row of lane %d at offset %lld does not lie in the block's %zu bytes of shared memory", lane,
          static_cast<long long>(offset), shared_bytes);
      return text;
    }
    std::memcpy(elements[lane / kSide][lane % kSide], lanes[lane]->row, kRowBytes);
  }
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    const int major = lane / 4, minor = 2 * (lane % 4);
    for (int m = 0; m < matrices; ++m) {
      const bool transposed = lanes[0]->transposed;
      const unsigned low = transposed ? elements[m][minor][major] : elements[m][major][minor];
      const unsigned high = transposed ? elements[m][minor + 1][major] : elements[m][major][minor + 1];
      lanes[lane]->r[m] = low | high << 16;
    }
  }
  return {};
}

} // namespace

std::string perform(const Collective *const (&lanes)[kWarpLanes], const unsigned char *shared, size_t shared_bytes) {
  switch (lanes[0]->kind) {
  case Collective::Kind::barrier:
    break;
  case Collective::Kind::multiply_add:
    multiply_add(lanes);
    break;
  case Collective::Kind::load_matrices:
    return load_matrices(lanes, shared, shared_bytes);
  case Collective::Kind::exchange_quad:
    exchange_quads(lanes);
    break;
  case Collective::Kind::transpose_matrix:
    transpose_matrix(lanes);
    break;
  default: // WarpgroupProducts'
    break;
  }
  return {};
}

const char *name_of(const Collective &operation) {
  switch (operation.kind) {
  case Collective::Kind::barrier:
    return "syncwarp";
  case Collective::Kind::load_matrices:
    return operation.matrices == 4 ? (operation.transposed ? "ldmatrix_x4_trans" : "ldmatrix_x4")
                                   : (operation.transposed ? "ldmatrix_x2_trans" : "ldmatrix_x2");
  case Collective::Kind::exchange_quad:
    return "exchange_quad";
  case Collective::Kind::transpose_matrix:
    return "movmatrix";
  case Collective::Kind::warpgroup_product:
    return "wgmma";
  case Collective::Kind::warpgroup_fence:
    return "wgmma_fence";
  case Collective::Kind::warpgroup_commit:
    return "wgmma_commit";
  case Collective::Kind::warpgroup_wait:
    return "wgmma_wait";
  case Collective::Kind::multiply_add:
    switch (operation.tile) {
    case twin::Tile::m16n8k16_bf16:
      return "mma_m16n8k16_bf16";
    case twin::Tile::m16n8k16_f16:
      return "mma_m16n8k16_f16";
    case twin::Tile::m16n8k8_tf32:
      return "mma_m16n8k8_tf32";
    }
  }
  return "?";
}

} // namespace hconv::emulator
