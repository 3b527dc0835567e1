/** tensor_core: a warp's SIMT loops over a matrix tile become ldmatrix and mma.sync. */
#include "codegen/tensor_core.h"

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

const TensorCoreRequest request = {"k", "m_half", "pair"};

// Four tiles of B: ldmatrix.x4 loads two of them.
TEST(TensorCore, MatmulOfBfloat16) {
  expect_golden(text_of([] { return cuda_of(mma_matmul(BFloat(16), 4), {}, request); }), "cu");
}

// Three: one at a time, with ldmatrix.x2.
TEST(TensorCore, MatmulOfFloat16WithAnOddTile) {
  expect_golden(text_of([] { return cuda_of(mma_matmul(Float(16), 3), {}, request); }), "cu");
}

TEST(TensorCore, InsideAPipeline) {
  expect_golden(text_of([] { return cuda_of(mma_matmul(BFloat(16), 4), {"chunk", 2}, request); }), "cu");
}

/** Runs a kernel of 32 lanes as 32 host threads. What owns which element of a fragment is written down here once more,
 * from the PTX manual's tables, independently of the pass and the emulator. */
const char *const kWarp = R"(
namespace hconv {
namespace twin {
const void *rows[32];
unsigned all_a[32][4], all_b[32][2];
void warp_load_matrices(unsigned *r, const void *row, int matrices, bool) {
  rows[current->thread_index.x] = row;
  block_barrier();
  const unsigned lane = current->thread_index.x;
  for (int i = 0; i < matrices; i++)
    std::memcpy(&r[i], static_cast<const char *>(rows[8 * i + lane / 4]) + 4 * (lane % 4), 4);
  block_barrier();
}
float value(const unsigned *registers, unsigned i, Tile tile) {
  const uint16_t bits = uint16_t(registers[i / 2] >> 16 * (i % 2));
  return tile == Tile::m16n8k16_bf16 ? bfloat16_value(bits) : half_value(bits);
}
void warp_multiply_add(Tile tile, float *d, const unsigned *a, const unsigned *b) {
  const unsigned lane = current->thread_index.x;
  std::memcpy(all_a[lane], a, sizeof all_a[lane]);
  std::memcpy(all_b[lane], b, sizeof all_b[lane]);
  block_barrier();
  for (unsigned i = 0; i < 4; i++) {
    const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
    for (unsigned k = 0; k < 16; k++) {
      const unsigned q = k % 8 / 2, half = k / 8;
      d[i] += value(all_a[4 * (row % 8) + q], 4 * half + 2 * (row / 8) + k % 2, tile) *
              value(all_b[4 * column + q], 2 * half + k % 2, tile);
    }
  }
  block_barrier();
}
}
}
const int M = 64, N = 8 * N_TILES, K = 32;
alignas(16) ELEMENT a[M * K], b[N * K];
float c[M * N];
int a_value(int m, int k) { return (m * 7 + k * 5 + m * k) % 17 - 8; }
int b_value(int n, int k) { return (n * 3 + k * 11 + n * k * 2) % 13 - 6; }
int main() {
  for (int k = 0; k < K; k++) {
    for (int m = 0; m < M; m++)
      a[m * K + k] = ELEMENT(float(a_value(m, k)));
    for (int n = 0; n < N; n++)
      b[n * K + k] = ELEMENT(float(b_value(n, k)));
  }
  for (float &x : c)
    x = -12345.f;
  hconv::twin::run_blocks(2, 32, 1, [] { KERNEL(a, b, c); });
  int wrong = 0;
  for (int m = 0; m < M; m++) {
    for (int n = 0; n < N; n++) {
      int sum = 0;
      for (int k = 0; k < K; k++)
        sum += a_value(m, k) * b_value(n, k);
      wrong += c[m * N + n] != float(sum);
    }
  }
  printf("%d of %d sums are wrong", wrong, M * N);
}
)";

/** Compiles mma_matmul's CUDA text as C++, runs it on small integers and compares with exact sums. */
void expect_exact(Type type, int n_tiles, const TensorCoreRequest &tile) {
  SCOPED_TRACE(std::to_string(n_tiles) + " tiles of B, tensor cores: " + (tile.k.empty() ? "no" : "yes"));
  const std::string cuda = text_of([&] { return cuda_of(mma_matmul(type, n_tiles), {}, tile); });
  EXPECT_EQ(cuda.find("hconv::mma_") == std::string::npos, tile.k.empty()) << cuda;
  const testing::TestInfo *test = testing::UnitTest::GetInstance()->current_test_info();
  const Folder folder;
  write_file(folder.path("warp.cpp"), "#include \"hconv_prelude.cuh\"\n" + cuda + kHostThreads + kWarp);
  const Ended compiled = run_host_compiler({"-w", "-pthread", "-DN_TILES=" + std::to_string(n_tiles),
                                            std::string("-DELEMENT=hconv::") + (type.is_bfloat() ? "bfloat16" : "half"),
                                            std::string("-DKERNEL=") + test->test_suite_name() + "_" + test->name(),
                                            folder.path("warp.cpp"), "-o", folder.path("warp")});
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  EXPECT_EQ(run_program({folder.path("warp")}).output, "0 of " + std::to_string(64 * 8 * n_tiles) + " sums are wrong");
}

// The same schedule is valid without the pass, and means the same.
TEST(TensorCore, ComputesWhatTheLoopsDo) {
  expect_exact(BFloat(16), 1, request);
  expect_exact(Float(16), 3, request);
  expect_exact(BFloat(16), 4, request);
  expect_exact(BFloat(16), 4, {});
}

Expr var(const std::string &name) {
  return Variable::make(Int(32), name);
}

const Expr lane = var("threadIdx.x"), g = lane / 4, q = lane % 4;
const Expr mt = var("s.mt"), nt = var("s.nt"), k = var("s.k"), m_half = var("s.m_half"), pair = var("s.pair");

/** A nest that the pass takes; each test spoils one part of it. */
struct Nest {
  Type type_a = BFloat(16), type_b = BFloat(16);
  Expr a = (mt * 16 + m_half * 8 + g) * 24 + k, b = (nt * 8 + q * 2 + pair) * 24 + k;
  Expr acc = (mt * 4 + nt * 2 + m_half) * 2 + pair;
  int k_extent = 16, m_half_extent = 2, pair_extent = 2;
  Expr nt_extent = 2;
  std::string k_name = "s.k", pair_name = "s.pair";
  Expr value; // stored, in place of the sum

  static Expr load(const std::string &array, Type type, const Expr &index) {
    return Load::make(type, array, index, Buffer<>(), Parameter(), const_true(), ModulusRemainder());
  }
  static Stmt loop(const std::string &name, const Expr &extent, const Stmt &body) {
    return For::make(name, 0, extent, ForType::Serial, Partition::Auto, DeviceAPI::None, body);
  }
  Expr product() const {
    auto factor = [](Expr e) { return e.type() == Float(32) ? e : Cast::make(Float(32), e); };
    return Mul::make(factor(load("A", type_a, a)), factor(load("B", type_b, b)));
  }
  Stmt body() const {
    const Expr sum = value.defined() ? value : Add::make(load("acc", Float(32), acc), product());
    Stmt s = Store::make("acc", sum, acc, Parameter(), const_true(), ModulusRemainder());
    s = loop("s.m_half", m_half_extent, loop(pair_name, pair_extent, s));
    return loop("s.mt", 2, loop("s.nt", nt_extent, loop(k_name, k_extent, s)));
  }
  std::string result() const { return to_string(tensor_core(body(), request)); }
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(TensorCore, KeepsTheLoopsThatDoNotMoveTheSums) {
  const std::string text = text_of([] {
    Nest nest;
    nest.a = nest.a + var("s.ic") * 16;
    nest.b = nest.b + var("s.ic") * 16;
    return to_string(tensor_core(Nest::loop("s.ic", 4, nest.body()), request));
  });
  EXPECT_LT(text.find("s.ic, 0, 4"), text.find("load_matrix_x4")) << text;
  EXPECT_FALSE(has(text, "s.k")) << text;
}

TEST(TensorCore, TakesTheFactorsInEitherOrder) {
  const std::string text = text_of([] {
    Nest nest;
    std::swap(nest.a, nest.b);
    return nest.result();
  });
  EXPECT_TRUE(has(text, "a_fragments[s.mt*4]), (void *)hconv::address_of((bfloat16)B[")) << text;
  EXPECT_TRUE(has(text, "b_fragments[(s.nt*2)*2]), (void *)hconv::address_of((bfloat16)A[")) << text;
}

TEST(TensorCore, NothingIsDoneWhereNothingIsAsked) {
  EXPECT_EQ(text_of([] { return to_string(tensor_core(Nest().body(), {})); }),
            text_of([] { return to_string(Nest().body()); }));
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

const std::string kCannot = "Loop k cannot run on the tensor cores: ";
const std::string kA = kCannot + "the factor of the rows, A,", kB = kCannot + "the factor of the columns, B,";

TEST(TensorCore, RefusesLanesThatOwnOtherElements) {
  expect_refusal(kA + " differs between lanes that should read one row, at lane 1", [](Nest &n) { n.a += q * 24; });
  expect_refusal(kB + " differs between lanes that should read one row, at lane 4", [](Nest &n) { n.b += g * 24; });
  expect_refusal(kA + " depends on pair", [](Nest &n) { n.a += pair * 24; });
  expect_refusal(kB + " depends on m_half", [](Nest &n) { n.b += m_half * 24; });
  expect_refusal(kA + " does not move by a constant within a tile, but by",
                 [](Nest &n) { n.a += g * var("stride") * 8; });
  // The rows are right at k = 0, and lane 0 is dense.
  expect_refusal(kA + " does not move by a constant within a tile, but by", [](Nest &n) { n.a += g * k * 8; });
}

TEST(TensorCore, RefusesRowsThatLdmatrixCannotRead) {
  expect_refusal(kA + " is not dense along k", [](Nest &n) { n.a = k * 40 + mt * 16 + (m_half * 8 + g) * 8; });
  expect_refusal(kB + " is not dense along k", [](Nest &n) { n.b += k; });
  expect_refusal(kA + "'s rows are 20 elements apart, not a multiple of 8",
                 [](Nest &n) { n.a = (mt * 16 + m_half * 8 + g) * 20 + k; });
  expect_refusal(kB + "'s rows are 20 elements apart, not a multiple of 8",
                 [](Nest &n) { n.b = (nt * 8 + q * 2 + pair) * 20 + k; });
  expect_refusal(kA + "'s address", [](Nest &n) { n.a += 4; });
  expect_refusal("is not proved a multiple of 8 elements", [](Nest &n) { n.b += var("start"); });
}

TEST(TensorCore, RefusesOtherShapesOfTile) {
  expect_refusal(kCannot + "loop k has the extent 8, expected 16", [](Nest &n) { n.k_extent = 8; });
  expect_refusal(kCannot + "loop m_half has the extent 4, expected 2", [](Nest &n) { n.m_half_extent = 4; });
  expect_refusal(kCannot + "loop pair has the extent 1, expected 2", [](Nest &n) { n.pair_extent = 1; });
  expect_refusal(kCannot + "there is no loop pair in its nest", [](Nest &n) {
    n.pair_name = "s.other";
    for (Expr *e : {&n.a, &n.b, &n.acc})
      *e = substitute("s.pair", var("s.other"), *e);
  });
  expect_refusal(kCannot + "loop s.nt is not constant", [](Nest &n) { n.nt_extent = var("tiles"); });
  expect_refusal(kCannot + "loop s.nt moves both factors", [](Nest &n) { n.a += nt * 8; });
  expect_refusal(kCannot + "loop s.nt moves neither factor", [](Nest &n) { n.b = (q * 2 + pair) * 24 + k; });
  expect_refusal("No loop nest around k for the tensor cores", [](Nest &n) { n.k_name = "s.other"; });
}

TEST(TensorCore, RefusesOtherBodies) {
  const std::string body = kCannot + "its body is not acc[i] = acc[i] + a * b";
  expect_refusal(body, [](Nest &n) { n.value = n.product(); });
  expect_refusal(body, [](Nest &n) { n.value = Nest::load("acc", Float(32), n.acc) - n.product(); });
  expect_refusal(body, [](Nest &n) { n.value = Nest::load("acc", Float(32), n.acc + 1) + n.product(); });
  expect_refusal(body, [](Nest &n) { n.value = Nest::load("other", Float(32), n.acc) + n.product(); });
  expect_refusal(kCannot + "its sums", [](Nest &n) { n.acc += k * 8; });
  const std::string types = "not a 16-bit float made a float32";
  expect_refusal(types, [](Nest &n) { n.type_a = n.type_b = Float(32); });
  expect_refusal(types, [](Nest &n) { n.type_b = Int(16); });
  expect_refusal(kCannot + "its factors have two types", [](Nest &n) { n.type_b = Float(16); });
}

} // namespace
