// Which variant a tuned table gives a problem, by name: its own entry, the nearest one, or none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "environment_guard.h"
#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"
#include "runtime/validation.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using namespace hconv::runtime;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using How = Tuned::How;

// 57 rows and columns of outputs in 16 channels: the heuristic takes oc32x64.
const hconv_problem asked = square_problem(cuda0, 2, 32, 64, 8, 8);
const char heuristic[] = "conv2d_direct_f32_oc32x64_cuda";

std::string line(const std::string &extents, const std::string &variant, const std::string &head = "sm_90a f32 fp32",
                 const std::string &tail = "") {
  return head + " nchw " + extents + " -> " + variant + " ms=0.5 date=2026-12-02 runs=12" + tail + "\n";
}

/// An environment whose HCONV_TUNED_FILE holds these lines.
Environment with(const std::string &lines) {
  auto table = std::make_shared<TunedTable>();
  EXPECT_EQ(parse_tuned_table(lines, "mine.txt", table.get()), "");
  Environment environment;
  environment.tuned = table;
  return environment;
}

std::string name_of_choice(const hconv_problem &p, const Environment &environment, How how,
                           const Machine &machine = {}) {
  EXPECT_EQ(check_problem(&p), HCONV_OK) << last_error();
  Choice choice;
  if (choose(p, machine, environment, &choice))
    return last_error();
  EXPECT_EQ(choice.tuned.how, how) << choice.source;
  return std::string(choice.variant->name) + (choice.product ? std::string("+") + choice.product->name : "");
}

TEST(TunedDispatch, TheHeuristicServesWithoutATable) {
  EXPECT_EQ(name_of_choice(asked, {}, How::heuristic), heuristic);
  EXPECT_EQ(name_of_choice(asked, with("# empty\n"), How::heuristic), heuristic);
}

TEST(TunedDispatch, AnEntryForTheProblemDecides) {
  const Environment table = with(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
  EXPECT_EQ(name_of_choice(asked, table, How::exact), "conv2d_direct_f32_oc64x128_cuda");
  hconv_problem other_device = asked;
  other_device.device = cuda1; // of the same architecture
  EXPECT_EQ(name_of_choice(other_device, table, How::exact), "conv2d_direct_f32_oc64x128_cuda");
  Choice choice;
  ASSERT_EQ(choose(asked, {}, table, &choice), HCONV_OK);
  EXPECT_EQ(choice.source, "a tuned table has this problem");
  EXPECT_EQ(choice.tuned.match.distance, 0);
  EXPECT_STREQ(choice.runner_up->name, heuristic) << "by cost, of the others";
  EXPECT_NE(choice.pack, nullptr);
}

TEST(TunedDispatch, AnEntryNamesATransformAndItsProduct) {
  const char *variant = "conv2d_transform_f32_fft32x32_cuda+spectral_product_f32_oc64x64_cuda";
  EXPECT_EQ(name_of_choice(asked, with(line("2,32,64,64,8,8,32,0,0,0,0", variant)), How::exact), variant);
  // Without a product the cheapest one.
  std::string reason;
  const Variant &transform = *find_variant("conv2d_transform_f32_fft32x32_cuda");
  EXPECT_EQ(name_of_choice(asked, with(line("2,32,64,64,8,8,32,0,0,0,0", transform.name)), How::exact),
            std::string(transform.name) + "+" + product_for(transform, asked, {}, &reason)->name);
}

TEST(TunedDispatch, TheNearestEntryStandsIn) {
  const Environment table = with(line("2,32,64,80,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda") +
                                 line("3,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x64_cuda"));
  // OW 73 instead of 57 is 0.36 doublings away, batch 3 instead of 2 is 0.58.
  EXPECT_EQ(name_of_choice(asked, table, How::nearest), "conv2d_direct_f32_oc64x128_cuda");
  hconv_problem wider = asked;
  wider.batch = 4;
  wider.width = 70;
  EXPECT_EQ(name_of_choice(wider, table, How::nearest), "conv2d_direct_f32_oc64x64_cuda");
  Choice choice;
  ASSERT_EQ(choose(asked, {}, table, &choice), HCONV_OK);
  EXPECT_NEAR(choice.tuned.match.distance, std::log2(73.0 / 57), 1e-12);
  EXPECT_EQ(choice.source, "a tuned table has a problem 0.357 doublings away");
}

TEST(TunedDispatch, DistanceIsTheSumOfDoublings) {
  const Environment table = with(line("2,32,64,64,8,8,32,0,0,0,0", "x"));
  const TunedEntry &entry = table.tuned->entries[0];
  const auto away = [&](auto change) {
    hconv_problem p = asked;
    change(p);
    return tuned_distance(entry, p, {});
  };
  EXPECT_EQ(away([](hconv_problem &) {}), 0);
  EXPECT_EQ(away([](hconv_problem &p) { p.batch = 4; }), 1);
  EXPECT_EQ(away([](hconv_problem &p) { p.batch = 0; }), 1) << "an empty batch is like one image";
  EXPECT_EQ(away([](hconv_problem &p) { p.in_channels = 8; }), 2);
  EXPECT_EQ(away([](hconv_problem &p) { p.out_channels = 128, p.batch = 1; }), 3);
  EXPECT_NEAR(away([](hconv_problem &p) { p.height = 121, p.width = 121; }), 2, 1e-12) << "114 outputs, not 121 pixels";
  EXPECT_NEAR(away([](hconv_problem &p) { p.height = 63, p.padding.top = 1; }), 0, 1e-12) << "as many outputs";
  EXPECT_NEAR(away([](hconv_problem &p) { p.kernel_height = 5, p.height = 61; }), std::log2(8.0 / 5), 1e-12);
  EXPECT_TRUE(std::isinf(away([](hconv_problem &p) { p.kernel_height = 4; }))) << "3 to 4 is another class than 5 to 8";
  EXPECT_TRUE(std::isinf(away([](hconv_problem &p) { p.kernel_width = 9; })));
  EXPECT_TRUE(std::isinf(away([](hconv_problem &p) { p.dtype = bfloat16; })));
  EXPECT_TRUE(std::isinf(away([](hconv_problem &p) { p.math = HCONV_MATH_TF32; })));
}

TEST(TunedDispatch, BeyondTheReachTheHeuristicServes) {
  const Environment table = with(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
  hconv_problem p = asked;
  p.batch = 4;
  EXPECT_EQ(name_of_choice(p, table, How::nearest), "conv2d_direct_f32_oc64x128_cuda");
  p.batch = 5;
  EXPECT_EQ(name_of_choice(p, table, How::heuristic), name_of_choice(p, {}, How::heuristic));
}

TEST(TunedDispatch, OtherDevicesTypesAndModesSayNothing) {
  const std::string extents = "2,32,64,64,8,8,32,0,0,0,0", variant = "conv2d_direct_f32_oc64x128_cuda";
  for (const char *head : {"sm_80 f32 fp32", "sm_100a f32 fp32", "sm_90a bf16 fp32", "sm_90a f32 strict"})
    EXPECT_EQ(name_of_choice(asked, with(line(extents, variant, head)), How::heuristic), heuristic) << head;
  EXPECT_EQ(name_of_choice(asked, with(line(extents, variant, "sm_90 f32 fp32")), How::exact), variant);
  Machine ampere;
  ampere.capability = 80;
  EXPECT_EQ(name_of_choice(asked, with(line(extents, variant, "sm_80 f32 fp32")), How::exact, ampere), variant);
  EXPECT_EQ(name_of_choice(asked, with(line(extents, variant)), How::heuristic, ampere), heuristic);
}

TEST(TunedDispatch, AnEntryThatCannotServeIsPassedOver) {
  const std::string extents = "2,32,64,64,8,8,32,0,0,0,0";
  const struct {
    const char *variant, *reason;
  } cases[] = {
      {"conv2d_direct_f32_gone_cuda", "this library has no convolution variant conv2d_direct_f32_gone_cuda"},
      {"pack_b32_cuda", "this library has no convolution variant pack_b32_cuda"},
      {"conv2d_direct_f32_oc64x64_kw3_cuda", "it is made for KW that is a multiple of 3, and KW is 8"},
      {"conv2d_direct_bf16_oc32x64_cuda", "it computes in bf16, and the tensors are float32"},
      {"conv2d_direct_f32_oc8x8_cpu_baseline", "it runs on the CPU, and the tensors are on cuda:0"},
      {"conv2d_direct_f32_oc32x64_halide_ptx",
       "its back end is halide_ptx, and HCONV_BACKEND asks for cuda (the default)"},
      {"conv2d_direct_f32_oc64x64_cuda+spectral_product_f32_oc64x64_cuda",
       "it is no transform variant, and so has no product kernel"},
      {"conv2d_transform_f32_fft32x32_cuda+conv2d_direct_f32_oc64x64_cuda",
       "this library has no product kernel conv2d_direct_f32_oc64x64_cuda"},
      {"conv2d_transform_f32_fft32x32_cuda+spectral_product_f32_oc8x4_cpu_avx2",
       "spectral_product_f32_oc8x4_cpu_avx2 declines since it runs on cpu_avx2, and the transforms on cuda"},
  };
  for (const auto &c : cases) {
    const Environment table =
        with(line(extents, c.variant) + line("3,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
    EXPECT_EQ(name_of_choice(asked, table, How::nearest), "conv2d_direct_f32_oc64x128_cuda") << c.variant;
    Choice choice;
    ASSERT_EQ(choose(asked, {}, table, &choice), HCONV_OK);
    ASSERT_EQ(choice.tuned.skipped.size(), 1u) << c.variant;
    EXPECT_EQ(choice.tuned.skipped[0].reason, c.reason);
    EXPECT_EQ(name_of_choice(asked, with(line(extents, c.variant)), How::heuristic), heuristic) << c.variant;
  }
}

TEST(TunedDispatch, ADeviceThatCannotHoldTheVariantPassesItOver) {
  Machine small;
  small.shared_bytes_per_block = 65536;
  const Environment table = with(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
  EXPECT_EQ(name_of_choice(asked, table, How::heuristic, small), heuristic);
}

TEST(TunedDispatch, TheFileComesBeforeTheCompiledTable) {
  hconv_problem p = square_problem(cuda0, 2, 24, 64, 12, 12);
  p.math = HCONV_MATH_STRICT;
  const char *head = "sm_90a f32 strict";
  EXPECT_EQ(name_of_choice(p, {}, How::exact), "conv2d_direct_f32_oc64x32_cuda")
      << "tests/runtime/fake/tuned/sm_90a.txt";
  EXPECT_EQ(
      name_of_choice(p, with(line("2,24,64,64,12,12,24,0,0,0,0", "conv2d_direct_f32_oc64x64_cuda", head)), How::exact),
      "conv2d_direct_f32_oc64x64_cuda");
  EXPECT_EQ(
      name_of_choice(p, with(line("2,24,64,64,12,12,24,0,0,0,0", "conv2d_direct_f32_gone_cuda", head)), How::exact),
      "conv2d_direct_f32_oc64x32_cuda");
  EXPECT_EQ(
      name_of_choice(p, with(line("2,24,64,63,12,12,24,0,0,0,0", "conv2d_direct_f32_oc64x64_cuda", head)), How::exact),
      "conv2d_direct_f32_oc64x32_cuda")
      << "the problem's own entry, wherever it is";
  // As many outputs, but another key: not as good as the problem's own, though the distance is 0.
  EXPECT_EQ(
      name_of_choice(p, with(line("2,24,63,64,12,12,24,1,0,0,0", "conv2d_direct_f32_oc64x64_cuda", head)), How::exact),
      "conv2d_direct_f32_oc64x32_cuda");
  p.batch = 4; // 1 doubling from both compiled entries
  EXPECT_EQ(name_of_choice(p, {}, How::nearest), "conv2d_direct_f32_oc64x32_cuda") << "of equals the earlier line";
  EXPECT_EQ(name_of_choice(p, with(line("8,24,64,64,12,12,24,0,0,0,0", "conv2d_direct_f32_oc64x64_cuda", head)),
                           How::nearest),
            "conv2d_direct_f32_oc64x64_cuda")
      << "of equals the file's";
}

TEST(TunedDispatch, APinComesBeforeAll) {
  Environment table = with(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
  table.variant = "conv2d_direct_f32_oc64x64_cuda";
  EXPECT_EQ(name_of_choice(asked, table, How::not_asked), "conv2d_direct_f32_oc64x64_cuda");
}

TEST(TunedDispatch, TablesCanBeLeftUnasked) {
  Environment table = with(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
  table.ask_tuned = false;
  EXPECT_EQ(name_of_choice(asked, table, How::not_asked), heuristic);
  EnvironmentGuard file("HCONV_TUNED_FILE", "/no/such/file"), off("HCONV_TUNED", "0");
  const json j = json::parse(explained(asked, HCONV_JSON));
  EXPECT_EQ(j["variant"]["name"], heuristic);
  EXPECT_TRUE(j["tuned"].is_null());
}

TEST(TunedDispatch, OnACpuTheThreadsAreAnExtentToo) {
  const hconv_problem p = square_problem(cpu, 2, 32, 64, 8, 8);
  Machine machine;
  machine.avx2 = true;
  machine.threads = 2;
  const auto table = [](const char *device, const char *threads) {
    return with(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_oc8x8_cpu_baseline",
                     std::string(device) + " f32 fp32", std::string(" threads=") + threads));
  };
  const char *tuned = "conv2d_direct_f32_oc8x8_cpu_baseline", *otherwise = "conv2d_direct_f32_oc16x8_cpu_avx2";
  EXPECT_EQ(name_of_choice(p, table("cpu_avx2", "2"), How::exact, machine), tuned);
  EXPECT_EQ(name_of_choice(p, table("cpu_avx2", "3"), How::nearest, machine), tuned);
  EXPECT_EQ(name_of_choice(p, table("cpu_avx2", "8"), How::heuristic, machine), otherwise);
  EXPECT_EQ(name_of_choice(p, table("cpu_baseline", "2"), How::heuristic, machine), otherwise);
  EXPECT_EQ(name_of_choice(p, table("cpu_avx512", "2"), How::heuristic, machine), otherwise);
}

/// A table in a file that HCONV_TUNED_FILE names as long as this lives.
struct TunedFile {
  explicit TunedFile(const std::string &lines) {
    std::ofstream(path) << lines;
    guard = std::make_unique<EnvironmentGuard>("HCONV_TUNED_FILE", path.c_str());
  }
  ~TunedFile() { std::remove(path.c_str()); }
  const std::string path =
      testing::TempDir() + "hconv_tuned_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
  std::unique_ptr<EnvironmentGuard> guard;
};

TEST(TunedFileVariable, IsReadOnceAndExplained) {
  const hconv_problem p = square_problem(cuda0, 2, 32, 64, 8, 8);
  TunedFile file(line("2,32,64,64,8,8,32,0,0,0,0", "conv2d_direct_f32_gone_cuda") +
                 line("2,32,64,80,8,8,32,0,0,0,0", "conv2d_direct_f32_oc64x128_cuda"));
  std::remove(file.path.c_str()); // the environment has been read
  const std::string content = explained(p, HCONV_TEXT);
  EXPECT_THAT(content, HasSubstr("variant      conv2d_direct_f32_oc64x128_cuda\n"));
  EXPECT_THAT(content, HasSubstr("chosen by    a tuned table has a problem 0.357 doublings away\n"
                                 "tuned        nearest: sm_90a f32 fp32 nchw 2,32,64,80,8,8,32,0,0,0,0, " +
                                 file.path +
                                 ":2, 0.5 ms in 12 runs on 2026-12-02; 0.357 doublings away\n"
                                 "  passed over sm_90a f32 fp32 nchw 2,32,64,64,8,8,32,0,0,0,0 -> "
                                 "conv2d_direct_f32_gone_cuda (" +
                                 file.path +
                                 ":1): this library has no convolution variant "
                                 "conv2d_direct_f32_gone_cuda\n"));
  const json tuned = json::parse(explained(p, HCONV_JSON))["tuned"];
  EXPECT_EQ(tuned["how"], "nearest");
  EXPECT_EQ(tuned["key"], "sm_90a f32 fp32 nchw 2,32,64,80,8,8,32,0,0,0,0");
  EXPECT_EQ(tuned["table"], file.path + ":2");
  EXPECT_NEAR(tuned["distance"].get<double>(), std::log2(73.0 / 57), 1e-12);
  EXPECT_EQ(tuned["ms"], 0.5);
  EXPECT_EQ(tuned["date"], "2026-12-02");
  EXPECT_EQ(tuned["runs"], 12);
  EXPECT_TRUE(tuned["threads"].is_null());
  ASSERT_EQ(tuned["skipped"].size(), 1u);
  EXPECT_EQ(tuned["skipped"][0]["variant"], "conv2d_direct_f32_gone_cuda");
  EXPECT_EQ(tuned["skipped"][0]["distance"], 0.0);
}

TEST(TunedFileVariable, ExplainTellsTheHeuristicAndThePin) {
  const hconv_problem p = square_problem(cuda0, 2, 32, 64, 8, 8);
  EXPECT_THAT(explained(p, HCONV_TEXT),
              HasSubstr("chosen by    the least cost\n"
                        "tuned        heuristic: no table has an entry for this device, "
                        "type, mode and class of kernel within a distance of 1 that can serve\n"));
  const json tuned = json::parse(explained(p, HCONV_JSON))["tuned"];
  EXPECT_EQ(tuned["how"], "heuristic");
  EXPECT_TRUE(tuned["key"].is_null() && tuned["distance"].is_null());
  EXPECT_EQ(tuned["skipped"], json::array());
  EnvironmentGuard pin("HCONV_VARIANT", heuristic);
  EXPECT_THAT(explained(p, HCONV_TEXT), Not(HasSubstr("tuned        ")));
  EXPECT_TRUE(json::parse(explained(p, HCONV_JSON))["tuned"].is_null());
}

TEST(TunedFileVariable, AFaultIsAnInvalidArgumentOfThePlan) {
  TunedFile file("# a table\nsm_90a f33\n");
  PlanHolder plan(small_problem());
  EXPECT_EQ(plan.status, HCONV_INVALID_ARGUMENT);
  EXPECT_THAT(hconv_last_error(), HasSubstr("HCONV_TUNED_FILE: " + file.path + ":2: The line has 2 fields; expected"));
  EXPECT_THAT(explained(small_problem(), HCONV_TEXT), HasSubstr("FAILED: HCONV_TUNED_FILE: "));
}

TEST(TunedFileVariable, APlanTakesItsVariantFromTheTable) {
  ThreadPool pool;
  ASSERT_EQ(choose_pool(nullptr, &pool), HCONV_OK);
  const Machine machine = machine_of(cpu, pool.threads);
  const std::string device = machine.avx512 ? "cpu_avx512" : machine.avx2 ? "cpu_avx2" : "cpu_baseline";
  TunedFile file(line("2,3,5,6,2,3,4,0,0,0,0", "conv2d_direct_f32_wrong_cpu_baseline", device + " f32 fp32",
                      " threads=" + std::to_string(machine.threads)));
  PlanHolder plan(small_problem());
  ASSERT_EQ(plan.status, HCONV_OK) << hconv_last_error();
  EXPECT_STREQ(hconv_plan_variant(plan), "conv2d_direct_f32_wrong_cpu_baseline");
}

} // namespace
