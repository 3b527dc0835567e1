/** warpgroup_mma: a warpgroup's SIMT loops over a matrix tile become ldmatrix and wgmma. */
#include "codegen/warpgroup_mma.h"

#include "support/child.h"
#include "support/golden.h"
#include "support/host_threads.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include "support/process.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

const WarpgroupRequest request = {{"k", "m_half", "pair"}, "step"};
const WarpgroupRequest both_shared = {{"k", "m_half", "pair"}, "step", true};

CudaBackendOptions asking(int stages, const WarpgroupRequest &warpgroup = request) {
  CudaBackendOptions options;
  options.pipeline = {"chunk", stages};
  options.warpgroup_mma = warpgroup;
  return options;
}

// Three stages: wgmma goes on over the barrier.
TEST(WarpgroupMma, OneTapInAPipelineOfThree) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(BFloat(16), 1), asking(3)); }), "cu");
}

// Two stages: wgmma ends with its step. A moves by one row a tap, B by its 64.
TEST(WarpgroupMma, ThreeTapsInAPipelineOfTwo) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(Float(16), 3), asking(2)); }), "cu");
}

// Without a pipeline each nest waits for its products, and each producer of B has the fence.
TEST(WarpgroupMma, ThreeTapsWithoutAPipeline) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(BFloat(16), 3), asking(1)); }), "cu");
}

// B moves by a row a tap, so its rows start anywhere: they lie in planes.
TEST(WarpgroupMma, PlanarInAPipelineOfTwo) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(Float(16), 3, true), asking(2)); }), "cu");
}

TEST(WarpgroupMma, PlanarWithoutAPipeline) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(BFloat(16), 3, true), asking(1)); }), "cu");
}

// Both factors by descriptor: all taps of a step are one group, and the next copies are issued behind it.
TEST(WarpgroupMma, BothSharedInAPipelineOfThree) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(BFloat(16), 3, true, true), asking(3, both_shared)); }),
                "cu");
}

TEST(WarpgroupMma, BothSharedInAPipelineOfTwo) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(Float(16), 1, true, true), asking(2, both_shared)); }), "cu");
}

TEST(WarpgroupMma, BothSharedWithoutAPipeline) {
  expect_golden(text_of([] { return cuda_of(wgmma_product(BFloat(16), 3, true, true), asking(1, both_shared)); }),
                "cu");
}

/** Runs a kernel of 128 threads as host threads on plain SIMT code. */
const char *const kBlock = R"(
const int M = 64, N = 128, K = 64, A = M + TAPS - 1;
alignas(16) hconv::bfloat16 a[A * K], b[TAPS * N * K], c[M * N];
int a_value(int m, int k) { return (m * 7 + k * 5 + m * k) % 5 - 2; }
int b_value(int n, int k, int t) { return (n * 3 + k * 11 + n * k * 2 + t) % 3 - 1; }
int main() {
  for (int k = 0; k < K; k++) {
    for (int m = 0; m < A; m++)
      a[m * K + k] = hconv::bfloat16(float(a_value(m, k)));
    for (int n = 0; n < N; n++)
      for (int t = 0; t < TAPS; t++)
        b[(t * N + n) * K + k] = hconv::bfloat16(float(b_value(n, k, t)));
  }
  hconv::twin::run_blocks(2, 32, 4, [] { KERNEL(a, b, c); });
  int wrong = 0;
  for (int m = 0; m < M; m++) {
    for (int n = 0; n < N; n++) {
      int sum = 0;
      for (int k = 0; k < K; k++)
        for (int t = 0; t < TAPS; t++)
          sum += a_value(m + t, k) * b_value(n, k, t);
      wrong += float(c[m * N + n]) != float(hconv::bfloat16(float(sum)));
    }
  }
  printf("%d of %d sums are wrong", wrong, M * N);
}
)";

// The same schedule is valid without the pass.
TEST(WarpgroupMma, TheLoopsMeanTheSameWithoutIt) {
  const std::string cuda = text_of([] { return cuda_of(wgmma_product(BFloat(16), 3), asking(1, {})); });
  EXPECT_EQ(cuda.find("hconv::wgmma_"), std::string::npos) << cuda;
  const Folder folder;
  write_file(folder.path("block.cpp"), "#include \"hconv_prelude.cuh\"\n" + cuda + kHostThreads + kBlock);
  const Ended compiled =
      run_host_compiler({"-w", "-pthread", "-DTAPS=3", "-DKERNEL=WarpgroupMma_TheLoopsMeanTheSameWithoutIt",
                         folder.path("block.cpp"), "-o", folder.path("block")});
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  EXPECT_EQ(run_program({folder.path("block")}).output, "0 of 8192 sums are wrong");
}

Expr var(const std::string &name) {
  return Variable::make(Int(32), name);
}

const Expr lane = var("threadIdx.x"), warp = var("threadIdx.y"), g = lane / 4, q = lane % 4;
const Expr nt = var("s.nt"), k = var("s.k"), step = var("s.step"), m_half = var("s.m_half"), pair = var("s.pair");

/** A nest that the pass takes; each test spoils one part of it. 64 columns of B behind 2560 elements of A. */
struct Nest {
  Expr a = (warp * 16 + m_half * 8 + g) * 40 + step * 16 + k;
  Expr b = 2560 + (nt * 8 + q * 2 + pair) * 32 + step * 16 + k;
  Expr acc = (m_half * 8 + nt) * 2 + pair;
  int nt_extent = 8, mt_extent = 0, step_extent = 2, warps = 4, size = 4608;
  std::string name = "tile", step_name = "s.step", producer = "sum";
  Stmt other; // beside the nest
  WarpgroupRequest asked = request;

  static Expr load(const std::string &array, Type type, const Expr &index) {
    return Load::make(type, array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
  }
  static Stmt store(const std::string &array, const Expr &value, const Expr &index) {
    return Store::make(array, value, index, Parameter(), const_true(), ModulusRemainder());
  }
  static Stmt loop(const std::string &name, const Expr &extent, const Stmt &body) {
    return For::make(name, 0, extent, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
  }
  std::string result(bool pipelined = true) const {
    auto factor = [&](const Expr &index) { return Cast::make(Float(32), load(name, BFloat(16), index)); };
    Stmt s = store("acc", Add::make(load("acc", Float(32), acc), Mul::make(factor(a), factor(b))), acc);
    s = loop("s.nt", nt_extent, loop("s.k", 16, loop("s.m_half", 2, loop("s.pair", 2, s))));
    if (mt_extent > 0)
      s = loop("s.mt", mt_extent, s);
    if (!step_name.empty())
      s = loop(step_name, step_extent, s);
    if (!producer.empty())
      s = ProducerConsumer::make(producer, true, s);
    if (other.defined())
      s = Block::make(other, s);
    s = Allocate::make("acc", Float(32), MemoryType::Register, {128}, const_true(), s);
    s = Allocate::make(name, BFloat(16), MemoryType::GPUShared, {size}, const_true(), s);
    CudaKernel kernel;
    kernel.name = "nest";
    kernel.block[0] = 32;
    kernel.block[1] = warps;
    kernel.body = s;
    warpgroup_mma(kernel, asked, pipelined);
    return to_string(kernel.body);
  }
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

std::string changed(const std::function<void(Nest &)> &change) {
  return text_of([&] {
    Nest nest;
    change(nest);
    return nest.result();
  });
}

TEST(WarpgroupMma, DescribesRowsOf32And64Elements) {
  EXPECT_TRUE(has(changed([](Nest &) {}), "hconv::matrix_descriptor<64>"));
  const std::string longer = changed([](Nest &n) {
    n.b = 2560 + (nt * 8 + q * 2 + pair) * 64 + step * 16 + k;
    n.size = 2560 + 64 * 64;
  });
  EXPECT_TRUE(has(longer, "hconv::matrix_descriptor<128>")) << longer;
}

TEST(WarpgroupMma, RowsThatStartAnywhereLieInPlanes) {
  // 2560 + 32 is no multiple of 8 rows of 32.
  const std::string moved = changed([](Nest &n) {
    n.b += 32;
    n.size += 32;
  });
  EXPECT_TRUE(has(moved, "planar_descriptor<1040, 128>")) << moved;
}

TEST(WarpgroupMma, FencesPlainStoresWithoutAPipeline) {
  auto staged = [](bool pipelined) {
    return text_of([=] {
      Nest nest;
      nest.other = ProducerConsumer::make(
          "b_tile", true,
          Nest::store("tile", Nest::load("b", BFloat(16), lane), simplify(2560 + (warp * 32 + lane) * 8)));
      return nest.result(pipelined);
    });
  };
  EXPECT_FALSE(has(staged(true), "hconv::fence_proxy_async")) << staged(true);
  EXPECT_TRUE(has(staged(false), "hconv::fence_proxy_async")) << staged(false);
}

/** The nest, spoilt, must be refused for a reason. */
void expect_refusal(const std::string &part, const std::function<void(Nest &)> &spoil) {
  const std::string error = refusal_of([&] {
    Nest nest;
    spoil(nest);
    return nest.result();
  });
  EXPECT_TRUE(has(error, part)) << "expected: " << part << "\nfound: " << error;
}

const std::string kCannot = "Loop k cannot run on the tensor cores: ",
                  kB = kCannot + "the factor of the columns, tile,";

TEST(WarpgroupMma, RefusesOtherNests) {
  expect_refusal("No loop nest step around k for the tensor cores of a warpgroup",
                 [](Nest &n) { n.step_name = "s.other"; });
  expect_refusal("Loop k is in no producer of its sums", [](Nest &n) { n.producer = ""; });
  expect_refusal(kCannot + "loop step has the extent 1, expected an even one", [](Nest &n) { n.step_extent = 1; });
  expect_refusal(kCannot + "there are 2 warps along y, expected a multiple of 4", [](Nest &n) { n.warps = 2; });
}

TEST(WarpgroupMma, RefusesColumnsThatNoDescriptorFits) {
  expect_refusal(kB + "'s rows are 24 elements apart, expected 16, 32 or 64",
                 [](Nest &n) { n.b = 2560 + (nt * 8 + q * 2 + pair) * 24 + step * 8 + k; });
  expect_refusal(kB + "'s row 2 is not behind the one before it",
                 [](Nest &n) { n.b = 2560 + (nt * 16 + q * 4 + pair) * 32 + step * 16 + k; });
  expect_refusal(kB + " is not dense along the steps of s.step",
                 [](Nest &n) { n.b = 2560 + (nt * 8 + q * 2 + pair) * 32 + step * 8 + k; });
  expect_refusal(kB + "'s rows are shorter than all steps", [](Nest &n) { n.step_extent = 4; });
  expect_refusal(kB + " differs between the warps of a warpgroup", [](Nest &n) { n.b += warp * 256; });
  expect_refusal(kB + "'s address", [](Nest &n) { n.b += var("start") * 256; });
  // 512 are too many for one, and the loop is not cut.
  for (const auto &[tiles, columns] : {std::pair<int, int>{3, 24}, {64, 8}}) {
    expect_refusal(kCannot + "an instruction would have " + std::to_string(columns) + " columns, expected 56, 112 or " +
                       "a multiple of 32 up to 256",
                   [tiles = tiles](Nest &n) {
                     n.nt_extent = tiles;
                     n.acc = (m_half * tiles + nt) * 2 + pair;
                   });
  }
  expect_refusal(kCannot + "its sums acc are not evenly apart",
                 [](Nest &n) { n.acc = (m_half * 8 + select(nt == 3, 17, nt)) * 2 + pair; });
}

/** 64 rows of A as dense as B's. */
void share_a(Nest &n) {
  n.asked = both_shared;
  n.a = (warp * 16 + m_half * 8 + g) * 32 + step * 16 + k;
}

TEST(WarpgroupMma, ReadsAByDescriptorToo) {
  const std::string both = changed(share_a);
  EXPECT_TRUE(has(both, "hconv::matrix_descriptor<64>")) << both;
  EXPECT_FALSE(has(both, "a_fragments")) << both;
  // Halide leaves out a loop of one step.
  const std::string one = changed([](Nest &n) {
    n.asked = both_shared;
    n.a = (warp * 16 + m_half * 8 + g) * 16 + k;
    n.b = 2560 + (nt * 8 + q * 2 + pair) * 16 + k;
    n.step_name = "";
  });
  EXPECT_TRUE(has(one, "hconv::matrix_descriptor<32>")) << one;
}

TEST(WarpgroupMma, RefusesRowsThatNoDescriptorFits) {
  const std::string kA = kCannot + "the factor of the rows, tile,";
  auto spoilt = [](const std::function<void(Nest &)> &spoil) {
    return [=](Nest &n) {
      share_a(n);
      spoil(n);
    };
  };
  expect_refusal(kA + "'s rows are 40 elements apart, expected 16, 32 or 64",
                 spoilt([](Nest &n) { n.a = (warp * 16 + m_half * 8 + g) * 40 + step * 16 + k; }));
  expect_refusal(kA + "'s group 2 of 8 rows is not as far from the one before it as group 1",
                 spoilt([](Nest &n) { n.a += m_half * 128; }));
  expect_refusal(kA + "'s groups of 8 rows are not whole rows apart", spoilt([](Nest &n) { n.a += m_half * 8; }));
  const Expr mt = var("s.mt");
  expect_refusal(kA + " does not move evenly along loop s.mt", spoilt([=](Nest &n) {
                   n.mt_extent = 3;
                   n.a += select(mt == 2, 7, mt) * 128;
                   n.acc += mt * 32;
                 }));
  // Planes of rows that start anywhere take more room than the rows: what follows them is in the way.
  expect_refusal("The rows of tile that wgmma reads, elements 32 to 2079, are not the last of its 4608",
                 spoilt([](Nest &n) { n.a += 32; }));
}

TEST(WarpgroupMma, RefusesAccessesOfTheRowsThatItCannotMove) {
  auto beside = [](const Stmt &other) { return [=](Nest &n) { n.other = other; }; };
  const Expr value = Nest::load("x", BFloat(16), 0);
  expect_refusal("may lie in the rows that wgmma reads, elements 2560 to 4607, or outside of them",
                 beside(Nest::store("tile", value, 2500 + lane * 8)));
  auto vector_store = [&](int lanes) {
    const Expr address = Call::make(Handle(), kAddressOf, {Nest::load("tile", BFloat(16), 2560)}, Call::PureExtern);
    return Evaluate::make(
        Call::make(Int(32), "hconv::store_aligned", {address, Broadcast::make(value, lanes)}, Call::Extern));
  };
  expect_refusal("that wgmma reads is none of 16 aligned bytes or less", beside(vector_store(16)));
  EXPECT_TRUE(has(changed(beside(vector_store(8))), "hconv::store_aligned"));
}

} // namespace
