// Tuned tables as text: tests/tune/tables/ holds the examples, which the tuner's own parser reads as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "runtime/problem.h"
#include "runtime/tuned_table.h"

namespace {

using namespace hconv::runtime;
using testing::HasSubstr;
using testing::StartsWith;

std::string content_of(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  return stream.str();
}

std::vector<std::filesystem::path> tables(const char *kind) {
  std::vector<std::filesystem::path> found;
  for (const auto &file : std::filesystem::directory_iterator(std::filesystem::path("tests/tune/tables") / kind))
    if (file.path().extension() == ".txt")
      found.push_back(file.path());
  std::sort(found.begin(), found.end());
  return found;
}

const char example[] = "sm_90a bf16 strict nchw 4,64,30,31,8,7,96,1,2,3,4 -> a_1+b ms=0.5 date=2026-12-02 runs=12\n";

TEST(TunedTable, ReadsEveryField) {
  TunedTable table;
  ASSERT_EQ(parse_tuned_table("# first\n\n" + std::string(example), "t.txt", &table), "");
  EXPECT_EQ(table.file, "t.txt");
  ASSERT_EQ(table.entries.size(), 1u);
  const TunedEntry &entry = table.entries[0];
  EXPECT_EQ(entry.device, "sm_90a");
  const hconv_problem &p = entry.problem;
  EXPECT_TRUE(same(p.dtype, DLDataType{kDLBfloat, 16, 1}));
  EXPECT_TRUE(same(p.device, DLDevice{kDLCUDA, 0}));
  EXPECT_EQ(p.math, HCONV_MATH_STRICT);
  EXPECT_EQ(std::vector<int64_t>({p.batch, p.in_channels, p.height, p.width, p.kernel_height, p.kernel_width,
                                  p.out_channels, p.padding.top, p.padding.bottom, p.padding.left, p.padding.right}),
            std::vector<int64_t>({4, 64, 30, 31, 8, 7, 96, 1, 2, 3, 4}));
  EXPECT_EQ(entry.variant, "a_1+b");
  EXPECT_EQ(entry.ms, 0.5);
  EXPECT_EQ(entry.date, "2026-12-02");
  EXPECT_EQ(entry.runs, 12);
  EXPECT_EQ(entry.threads, 0);
  EXPECT_EQ(entry.line, 3);
  EXPECT_EQ(key_of(entry), "sm_90a bf16 strict nchw 4,64,30,31,8,7,96,1,2,3,4");
}

TEST(TunedTable, ReadsEveryGoodExample) {
  size_t entries = 0;
  for (const auto &path : tables("good")) {
    TunedTable table;
    const std::string content = content_of(path);
    EXPECT_EQ(parse_tuned_table(content, path.string(), &table), "");
    std::stringstream lines(content);
    std::vector<std::string> keys;
    for (std::string line; std::getline(lines, line);)
      if (!line.empty() && line[0] != '#')
        keys.push_back(line.substr(0, line.find(" ->")));
    ASSERT_EQ(table.entries.size(), keys.size()) << path;
    for (size_t i = 0; i < keys.size(); ++i)
      EXPECT_EQ(key_of(table.entries[i]), keys[i]) << path;
    entries += keys.size();
  }
  EXPECT_GE(entries, 8u);
}

TEST(TunedTable, MillisecondsAreTheNearestNumbers) {
  for (const char *ms : {"0.498307", "1e", "0.1", "12", "999999", "0.0000000000000100000", "0.3", "2.675"}) {
    TunedTable table;
    std::string line = example;
    line.replace(line.find("0.5"), 3, ms);
    const std::string fault = parse_tuned_table(line, "t.txt", &table);
    if (std::string(ms) == "1e") {
      EXPECT_THAT(fault, HasSubstr("ms is '1e'"));
    } else {
      ASSERT_EQ(fault, "");
      EXPECT_EQ(table.entries[0].ms, std::strtod(ms, nullptr)) << ms;
    }
  }
}

TEST(TunedTable, RefusesEveryBadExampleWithItsLine) {
  const auto files = tables("bad");
  EXPECT_GE(files.size(), 40u);
  for (const auto &path : files) {
    const std::string content = content_of(path), first = content.substr(0, content.find('\n'));
    const size_t colon = first.find(": ");
    ASSERT_THAT(first, StartsWith("# line ")) << path;
    ASSERT_NE(colon, std::string::npos) << path;
    TunedTable table;
    const std::string fault = parse_tuned_table(content, "table.txt", &table);
    EXPECT_THAT(fault, StartsWith("table.txt:" + first.substr(7, colon - 7) + ": ")) << path;
    EXPECT_THAT(fault, HasSubstr(first.substr(colon + 2))) << path;
    EXPECT_EQ(fault.back(), '.') << path << ": a sentence";
  }
}

TEST(TunedTable, FaultsShowUnprintableBytesAndCutLongWords) {
  TunedTable table;
  EXPECT_EQ(parse_tuned_table("sm_90a f\x01\xff 2 3 4 -> 6 7 8 9\n", "t", &table),
            "t:1: The type is 'f\\x01\\xff'; expected f32, bf16 or f16.");
  const std::string fault = parse_tuned_table(std::string(100000, 'x') + " 1 2 3 4 -> 6 7 8 9", "t", &table);
  EXPECT_THAT(fault, StartsWith("t:1: The device is 'xxx"));
  EXPECT_LT(fault.size(), 300u);
}

TEST(TunedTable, ALastLineNeedsNoEnd) {
  TunedTable table;
  std::string text = example;
  text.pop_back();
  EXPECT_EQ(parse_tuned_table(text, "t", &table), "");
  EXPECT_EQ(table.entries.size(), 1u);
  EXPECT_EQ(parse_tuned_table("", "t", &table), "");
  EXPECT_TRUE(table.entries.empty()) << "what was there before is gone";
}

/// Changes a text in one place: cuts it there, inserts, erases or overwrites.
void mutate(std::string &text, std::mt19937 &random) {
  static const std::string interesting = "sm_90acpu f32bn,->+=.0123456789\n\n \t\r#\xff\\'\"x";
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (text.empty())
    return;
  const size_t at = below(text.size());
  switch (below(9)) {
  case 0:
    text.resize(at);
    break;
  case 1:
  case 2:
    text.insert(at, 1, interesting[below(interesting.size())]);
    break;
  case 3:
    text.erase(at, 1 + below(3));
    break;
  case 4:
    text.insert(at, text.substr(below(text.size()), below(80)));
    break;
  case 5:
    text[at] = static_cast<char>(random());
    break;
  default:
    text[at] = interesting[below(interesting.size())];
  }
}

/// Mutated tables are read or refused with a place and a sentence; what is read is sound, and its key is read again.
TEST(TunedTable, SurvivesMutations) {
  std::vector<std::string> texts;
  for (const char *kind : {"good", "bad"})
    for (const auto &path : tables(kind))
      texts.push_back(content_of(path));
  std::mt19937 random(20261202);
  int read_count = 0, refused_count = 0;
  for (int round = 0; round < 40000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (size_t i = 0, mutations = 1 + random() % 3; i < mutations; ++i)
      mutate(text, random);
    TunedTable table;
    const std::string fault = parse_tuned_table(text, "t.txt", &table);
    (fault.empty() ? read_count : refused_count) += 1;
    if (!fault.empty()) {
      ASSERT_THAT(fault, testing::MatchesRegex("t\\.txt:[0-9]+: [ -~]+\\.")) << text;
      const auto line = std::stoll(fault.substr(6));
      ASSERT_LE(line, 1 + std::count(text.begin(), text.end(), '\n'));
    }
    for (const TunedEntry &entry : table.entries) {
      const hconv_problem &p = entry.problem;
      const Geometry g = geometry_of(p);
      ASSERT_TRUE(g.output_height >= 1 && g.output_width >= 1) << text;
      ASSERT_TRUE(std::isfinite(entry.ms) && entry.ms > 0 && entry.runs > 0) << text;
      ASSERT_EQ(entry.threads > 0, raw(p.device.device_type) == kDLCPU) << text;
      TunedTable again;
      std::string line = key_of(entry) + " -> v ms=1 date=2026-12-02 runs=1" + (entry.threads ? " threads=1" : "");
      ASSERT_EQ(parse_tuned_table(line, "again", &again), "") << text;
      ASSERT_EQ(key_of(again.entries.at(0)), key_of(entry));
    }
  }
  // Both sides of the fence were visited.
  EXPECT_GT(read_count, 2000);
  EXPECT_GT(refused_count, 20000);
}

TEST(TunedFile, IsReadOrRefusedByName) {
  TunedTable table;
  const std::string path = testing::TempDir() + "hconv_tuned_file.txt";
  std::ofstream(path) << example;
  EXPECT_EQ(read_tuned_file(path, &table), "");
  EXPECT_EQ(table.entries.size(), 1u);
  EXPECT_EQ(table.file, path);
  std::ofstream(path) << "# one\nnonsense\n";
  EXPECT_THAT(read_tuned_file(path, &table), StartsWith("HCONV_TUNED_FILE: " + path + ":2: The line has 1 fields"));
  std::remove(path.c_str());
  EXPECT_EQ(read_tuned_file(path, &table),
            "HCONV_TUNED_FILE is '" + path +
                "', which cannot be opened (No such file or directory); expected a tuned "
                "table.");
  EXPECT_EQ(read_tuned_file("/", &table),
            "HCONV_TUNED_FILE is '/', which cannot be read (Is a directory); expected a tuned table.");
  EXPECT_THAT(read_tuned_file("/dev/zero", &table), HasSubstr("which has more than 16777216 bytes"));
}

TEST(CompiledTables, HoldTheBuildsTables) {
  // With the line numbers of that file.
  ASSERT_EQ(compiled_tuned_tables().size(), 1u);
  const TunedTable &table = compiled_tuned_tables()[0];
  EXPECT_EQ(table.file, "tests/runtime/fake/tuned/sm_90a.txt");
  ASSERT_EQ(table.entries.size(), 2u);
  EXPECT_EQ(table.entries[0].variant, "conv2d_direct_f32_oc64x32_cuda");
  EXPECT_EQ(table.entries[0].line, 3);
  EXPECT_EQ(table.entries[1].ms, 1.25);
}

} // namespace
