/** nvcc: the compiler as a child process, its cache, and what it says of the kernels. */
#include "codegen/nvcc.h"

#include "support/child.h"
#include "support/process.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hconv;
using namespace hconv_test;

namespace {

/** Stands in for nvcc: notes its arguments in calls.log beside it, and writes an image made of the source. A source
 * that holds the word FAIL fails, one that holds KILL is killed. */
const char *const kFakeCompiler = R"(#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then
  cat "$here/version"
  exit 0
fi
for argument; do printf '%s\n' "$argument"; done >>"$here/calls.log"
while [ $# -gt 0 ]; do
  case "$1" in
  -o) output=$2; shift ;;
  *.cu) source=$1 ;;
  esac
  shift
done
if grep -q FAIL "$source"; then
  echo "$source(7): error: identifier \"FAIL\" is undefined" >&2
  exit 3
fi
if grep -q KILL "$source"; then kill -9 $$; fi
echo "ptxas info    : Compiling entry function 'k' for 'sm_90a'"
echo "ptxas info    : Used 17 registers, used 0 barriers"
{ printf 'image of '; cat "$source"; dd if=/dev/zero bs=1024 count=512 2>/dev/null; } >"$output"
)";

class Nvcc : public testing::Test {
protected:
  Folder folder{"hconv nvcc 'quoted' $(false) ;"}; // a shell would stumble over it
  NvccJob job;

  void SetUp() override {
    write_file(folder.path("fake nvcc"), kFakeCompiler);
    std::filesystem::permissions(folder.path("fake nvcc"), std::filesystem::perms::owner_all);
    write_file(folder.path("version"), "fake 1\n");
    write_file(folder.path("k.cu"), "kernel text\n");
    std::filesystem::create_directory(folder.path("in clude"));
    write_file(folder.path("in clude/prelude.cuh"), "// prelude\n");
    job = {folder.path("fake nvcc"), folder.path("k.cu"), {folder.path("in clude")}, "90a,ptx80"};
  }

  std::string calls() const { return read_file(folder.path("calls.log")); }
  int call_count() const {
    int count = 0;
    const std::string text = calls();
    for (size_t at = text.find("--fatbin"); at != std::string::npos; at = text.find("--fatbin", at + 1))
      count++;
    return count;
  }

  /** Compiles in a child, with a cache folder if one is given. */
  Answer compile(const std::string &cache = "") {
    return ask([&] {
      if (cache.empty())
        unsetenv("HCONV_NVCC_CACHE");
      else
        setenv("HCONV_NVCC_CACHE", cache.c_str(), 1);
      const NvccResult result = run_nvcc(job);
      return result.fatbin.substr(0, result.fatbin.find('\0')) + std::to_string(result.fatbin.size()) + " " +
             (result.resources.empty() ? "none" : std::to_string(result.resources[0].registers));
    });
  }
  const std::string compiled = "image of kernel text\n" + std::to_string(512 * 1024 + 21) + " 17";

  void expect_refusal(const std::string &part, const std::string &cache = "") {
    const Answer a = compile(cache);
    EXPECT_EQ(a.error.find("Error: "), 0u) << "not a compile error: " << a.error;
    EXPECT_NE(a.error.find(part), std::string::npos) << a.error;
  }
};

TEST_F(Nvcc, ReturnsTheImageAndTheResources) {
  const Answer a = compile();
  EXPECT_EQ(a.error, "");
  EXPECT_EQ(a.text, compiled);
}

TEST_F(Nvcc, PassesEachArgumentUnchanged) {
  compile();
  EXPECT_EQ(calls(), "--fatbin\n-std=c++17\n-O3\n-Xptxas\n-v\n-diag-suppress\n177\n"
                     "-gencode=arch=compute_90a,code=sm_90a\n-gencode=arch=compute_80,code=compute_80\n-I" +
                         folder.path("in clude") + "\n" + folder.path("k.cu") + "\n-o\n" + folder.path("k.fatbin") +
                         "\n");
}

TEST_F(Nvcc, AssemblesMachineCodeFromTheImagesPtx) {
  job.archs = "75,80,90a,120,ptx80";
  compile();
  const std::string text = calls();
  for (const char *flag :
       {"arch=compute_75,code=sm_75\n", "arch=compute_80,code=sm_80\n", "arch=compute_90a,code=sm_90a\n",
        "arch=compute_80,code=sm_120\n", "arch=compute_80,code=compute_80\n"})
    EXPECT_NE(text.find(flag), std::string::npos) << flag << "is not in\n" << text;
}

TEST_F(Nvcc, WithoutPtxEachArchitectureIsCompiled) {
  job.archs = "80,120";
  compile();
  EXPECT_NE(calls().find("arch=compute_120,code=sm_120\n"), std::string::npos) << calls();
}

TEST_F(Nvcc, TheCacheLeavesTheSameFilesBesideTheSource) {
  const std::string cache = folder.path("cache");
  compile(cache);
  const std::string image = read_file(folder.path("k.fatbin")), log = read_file(folder.path("k.nvcc.log"));
  write_file(folder.path("k.fatbin"), "of another source");
  write_file(folder.path("k.nvcc.log"), "of another source");
  compile(cache);
  EXPECT_EQ(call_count(), 1);
  EXPECT_EQ(read_file(folder.path("k.fatbin")), image);
  EXPECT_EQ(read_file(folder.path("k.nvcc.log")), log);
}

TEST_F(Nvcc, SaysWhereTheCachedImageCannotGo) {
  const std::string cache = folder.path("cache");
  compile(cache);
  std::filesystem::remove(folder.path("k.fatbin"));
  std::filesystem::create_directory(folder.path("k.fatbin"));
  expect_refusal("of the folder of HCONV_NVCC_CACHE to " + folder.path("k.fatbin") + ": ", cache);
}

TEST_F(Nvcc, AFailureShowsTheCompilersText) {
  write_file(folder.path("k.cu"), "FAIL\n");
  expect_refusal("failed on " + folder.path("k.cu") + " with exit status 3:\n");
  expect_refusal("k.cu(7): error: identifier \"FAIL\" is undefined");
}

TEST_F(Nvcc, AKilledCompilerIsAFailure) {
  write_file(folder.path("k.cu"), "KILL\n");
  expect_refusal("with exit status 128");
}

TEST_F(Nvcc, NamesWhatIsMissing) {
  const NvccJob whole = job;
  job.compiler = folder.path("no such compiler");
  expect_refusal("Cannot start " + folder.path("no such compiler") + ": No such file or directory");
  job = whole;
  job.source = folder.path("no such source.cu");
  expect_refusal("The CUDA source " + folder.path("no such source.cu") + " does not exist");
  job = whole;
  job.includes.push_back(folder.path("no such folder"));
  expect_refusal("The include folder " + folder.path("no such folder") + " does not exist");
  job = whole;
  expect_refusal("HCONV_NVCC_CACHE names", folder.path("k.cu") + "/cache");
}

TEST_F(Nvcc, TheCacheAnswersTheSecondTime) {
  const std::string cache = folder.path("cache/of nvcc");
  for (int i = 0; i < 3; i++) {
    const Answer a = compile(cache);
    EXPECT_EQ(a.error, "");
    EXPECT_EQ(a.text, compiled);
    EXPECT_EQ(call_count(), 1);
  }
}

TEST_F(Nvcc, TheCacheKnowsEverythingThatMatters) {
  const std::string cache = folder.path("cache");
  compile(cache);
  EXPECT_EQ(call_count(), 1);
  write_file(folder.path("k.cu"), "other text\n");
  compile(cache);
  EXPECT_EQ(call_count(), 2) << "the source changed";
  write_file(folder.path("in clude/prelude.cuh"), "// other\n");
  compile(cache);
  EXPECT_EQ(call_count(), 3) << "a header changed";
  job.archs = "80";
  compile(cache);
  EXPECT_EQ(call_count(), 4) << "the architectures changed";
  write_file(folder.path("version"), "fake 2\n");
  compile(cache);
  EXPECT_EQ(call_count(), 5) << "the compiler's version changed";
  compile(cache);
  EXPECT_EQ(call_count(), 5) << "nothing changed";
}

TEST_F(Nvcc, TheCacheKeepsNoFailures) {
  write_file(folder.path("k.cu"), "FAIL\n");
  expect_refusal("exit status 3", folder.path("cache"));
  expect_refusal("exit status 3", folder.path("cache"));
  EXPECT_EQ(call_count(), 2);
}

// Several builds at once: every reader sees a whole image, and nothing unfinished stays behind.
TEST_F(Nvcc, ConcurrentWritersPublishWholeImages) {
  const std::string cache = folder.path("cache");
  std::vector<pid_t> children;
  for (int i = 0; i < 8; i++) {
    const std::string source = folder.path("k" + std::to_string(i) + ".cu"); // a build folder each, one text
    write_file(source, "kernel text\n");
    const pid_t child = fork();
    if (child == 0) {
      job.source = source;
      bool whole = true;
      for (int round = 0; round < 2; round++)
        whole = whole && compile(cache).text == compiled;
      _exit(whole ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(cache)) {
    files++;
    EXPECT_TRUE(entry.path().extension() == ".fatbin" || entry.path().extension() == ".log") << entry.path();
  }
  EXPECT_EQ(files, 2);
}

TEST(NvccSplit, LeavesEmptyPartsOut) {
  EXPECT_EQ(split("a:b", ':'), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split(":a::b:", ':'), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split("", ':'), std::vector<std::string>());
}

// What ptxas 13.0 said of three kernels, one that spills and one that calls a function, on two architectures.
const char *const kPtxas = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spilling' for 'sm_90a'
ptxas info    : Function properties for spilling
    112 bytes stack frame, 300 bytes spill stores, 308 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 112 bytes cumulative stack size
ptxas info    : Compile time = 69.415 ms
ptxas info    : Function properties for _Z6helperPfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'small' for 'sm_90a'
ptxas info    : Function properties for small
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 2.094 ms
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'calling' for 'sm_80'
ptxas info    : Function properties for calling
    256 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 134 registers, used 1 barriers, 256 bytes cumulative stack size, 512 bytes smem, 364 bytes cmem[0]
)";

TEST(NvccPtxas, ReadsRegistersSpillsAndStack) {
  const auto all = parse_ptxas(kPtxas);
  ASSERT_EQ(all.size(), 3u);
  auto show = [](const KernelResources &r) {
    return r.kernel + " " + r.arch + " " + std::to_string(r.registers) + " " + std::to_string(r.spill_store_bytes) +
           " " + std::to_string(r.spill_load_bytes) + " " + std::to_string(r.stack_bytes);
  };
  EXPECT_EQ(show(all[0]), "spilling 90a 32 300 308 112"); // not the helper's zeros
  EXPECT_EQ(show(all[1]), "small 90a 8 0 0 0");
  EXPECT_EQ(show(all[2]), "calling 80 134 0 0 256");
  EXPECT_TRUE(parse_ptxas("").empty());
  EXPECT_TRUE(parse_ptxas("nvcc warning : something else\n").empty());
}

TEST(NvccReal, CompilesForEveryArchitectureNamed) {
  if (!std::filesystem::exists(HCONV_NVCC))
    GTEST_SKIP() << "no nvcc at " << HCONV_NVCC;
  const Folder folder("hconv real nvcc");
  write_file(folder.path("k.cu"), "extern \"C\" __global__ void twice(float *p) { p[threadIdx.x] *= 2; }\n");
  const std::string text = text_of([&] {
    const NvccResult result = run_nvcc({HCONV_NVCC, folder.path("k.cu"), {}, "90a,ptx80"});
    std::string all = std::to_string(result.fatbin.size() > 100) + "\n";
    for (const KernelResources &r : result.resources)
      all += r.kernel + " " + r.arch + (r.registers > 0 ? " registers\n" : " no registers\n");
    return all;
  });
  EXPECT_NE(text.find("1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("twice 90a registers\n"), std::string::npos) << text;

  write_file(folder.path("bad.cu"), "__global__ void bad() { undefined_name(); }\n");
  const std::string error = refusal_of([&] { return run_nvcc({HCONV_NVCC, folder.path("bad.cu"), {}, "80"}).fatbin; });
  EXPECT_NE(error.find("identifier \"undefined_name\" is undefined"), std::string::npos) << error;
}

} // namespace
