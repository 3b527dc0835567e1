// Transform variants: tiles, extents of the spectra, chunks and the workspace that they take.
#include <gtest/gtest.h>

#include "runtime/layout.h"
#include "runtime/transform.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;

const Variant &square() {
  return *find_variant("conv2d_transform_f32_fft32x32_cuda");
}
const Variant &flat() {
  return *find_variant("conv2d_transform_f32_fft16x32_cuda");
}
const Variant &product() {
  return *find_variant("spectral_product_f32_oc32x16_cuda"); // OC by 32, tiles by 16, IC by 8
}

hconv_problem problem(int64_t batch, int64_t ic, int64_t oc, int64_t size, int64_t kernel_h, int64_t kernel_w) {
  hconv_problem p{};
  p.dtype = float32;
  p.device = cuda0;
  p.batch = batch;
  p.in_channels = ic;
  p.out_channels = oc;
  p.height = p.width = size;
  p.kernel_height = kernel_h;
  p.kernel_width = kernel_w;
  return p;
}

TEST(TransformLayout, TilesCoverTheOutput) {
  hconv_problem p = problem(3, 9, 33, 100, 5, 8);
  TransformLayout l = transform_layout(p, flat(), product());
  EXPECT_EQ(l.step_h, 12);
  EXPECT_EQ(l.step_w, 25);
  EXPECT_EQ(l.tiles_h, 8); // of 96 rows
  EXPECT_EQ(l.tiles_w, 4); // of 93 columns
  EXPECT_EQ(l.frequencies, 16 * 32 / 2 + 2);
  EXPECT_EQ(l.ic, 16);
  EXPECT_EQ(l.oc, 64);
  EXPECT_EQ(l.granule, 16);
  EXPECT_EQ(launch_tiles(p, l), 96);

  p.padding = {1, 0, 7, 1}; // 97 x 101 outputs
  l = transform_layout(p, flat(), product());
  EXPECT_EQ(l.tiles_h, 9);
  EXPECT_EQ(l.tiles_w, 5);

  l = transform_layout(problem(1, 1, 1, 32, 32, 32), square(), product()); // a kernel as large as the tile
  EXPECT_EQ(l.step_h, 1);
  EXPECT_EQ(l.image_tiles(), 1);
}

TEST(TransformLayout, PackedWeightsAreTheirSpectrum) {
  EXPECT_EQ(packed_bytes(problem(1, 9, 33, 64, 5, 5), square(), &product()), int64_t{514} * 2 * 16 * 64 * 4);
}

TEST(TransformLayout, ChunksAreWholeGranulesOfAboutTheSameSize) {
  const hconv_problem p = problem(9, 9, 33, 100, 5, 8);
  const TransformLayout l = transform_layout(p, square(), product());
  const int64_t granule = 514 * 2 * (16 + 64) * 16 * 4;
  EXPECT_EQ(chunk_bytes(l, 16), granule);
  EXPECT_EQ(chunk_bytes(l, 48), 3 * granule);
  EXPECT_EQ(output_spectra_offset(l, 48), 3 * granule / 5);
  EXPECT_EQ(chunk_tiles(l, 160, granule - 1), 0);
  EXPECT_EQ(chunk_tiles(l, 160, granule), 16);
  EXPECT_EQ(chunk_tiles(l, 160, 9 * granule), 80); // two halves, not 144 and 16
  EXPECT_EQ(chunk_tiles(l, 160, 10 * granule), 160);
  EXPECT_EQ(chunk_tiles(l, 161, 10 * granule), 96);
  EXPECT_EQ(chunk_tiles(l, 5, INT64_MAX), 16);
}

TEST(TransformLayout, ChunksStayBelow31BitsOfIndices) {
  const TransformLayout l = transform_layout(problem(1000, 64, 64, 300, 5, 5), square(), product());
  const int64_t chunk = chunk_tiles(l, 3 * 32640, INT64_MAX);
  EXPECT_LT(l.input_floats(chunk), int64_t{1} << 31);
  EXPECT_GE(l.input_floats(chunk + 16), int64_t{1} << 31);
}

TEST(TransformLayout, TheWorkspaceIsBounded) {
  hconv_problem p = problem(1, 64, 64, 100, 5, 5);
  const int64_t granule = int64_t{514} * 2 * 128 * 16 * 4;
  Workspace w = workspace_of(p, square(), &product()); // 16 tiles
  EXPECT_EQ(w.full, granule);
  EXPECT_EQ(w.minimum, granule);
  p.batch = 3;
  w = workspace_of(p, square(), &product());
  EXPECT_EQ(w.full, 3 * granule);
  EXPECT_EQ(w.minimum, granule);
  p.batch = 1000; // 127 granules in a gibibyte
  w = workspace_of(p, square(), &product());
  EXPECT_EQ(w.full, 125 * granule) << "1000 granules in 8 chunks";
  EXPECT_LE(w.full, workspace_limit_on_cuda);
  p.in_channels = p.out_channels = 16384; // one granule is more than the limit
  w = workspace_of(p, square(), &product());
  EXPECT_EQ(w.full, 256 * granule);
  EXPECT_EQ(w.minimum, w.full);
  p.batch = 0;
  EXPECT_EQ(workspace_of(p, square(), &product()).full, 0);
}

TEST(TransformLayout, OnTheCpuAChunkStaysInCaches) {
  const auto full = [](int64_t channels) {
    hconv_problem p = problem(1000, channels, channels, 100, 5, 5);
    p.device = cpu;
    return workspace_of(p, *find_variant("conv2d_transform_f32_fft32x32_cpu_avx2"),
                        find_variant("spectral_product_f32_oc8x4_cpu_avx2"))
        .full;
  };
  EXPECT_LE(full(8), least_workspace_limit_on_cpu);
  EXPECT_GT(full(8), least_workspace_limit_on_cpu / 2);
  // A larger spectrum of the weights passes through the caches once a chunk.
  EXPECT_LE(full(128), workspace_limit_on_cpu);
  EXPECT_GT(full(128), workspace_limit_on_cpu / 2);
}

} // namespace
