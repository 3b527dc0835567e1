/** The golden CUDA texts compile: as C++ with the host twin, and with nvcc where there is one. */
#include "codegen/nvcc.h"
#include "support/child.h"
#include "support/golden.h"
#include "support/process.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace hconv_test;

namespace {

/** One source of all golden kernels, each file in a namespace of its own. */
std::string all_goldens() {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(golden_folder())) {
    if (entry.path().extension() == ".cu")
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty()) << "no .cu files in " << golden_folder();
  std::string text = "#include \"hconv_prelude.cuh\"\n";
  for (size_t i = 0; i < files.size(); i++)
    text +=
        "namespace golden_" + std::to_string(i) + " {\n#line 1 \"" + files[i] + "\"\n" + read_file(files[i]) + "}\n";
  return text;
}

TEST(GoldenCuda, CompilesAsCxxWithTheHostTwin) {
  const Folder folder;
  write_file(folder.path("all.cpp"), all_goldens());
  const Ended ended = run_host_compiler(
      {"-fsyntax-only", "-Wall", "-Wno-unknown-pragmas", "-Wno-parentheses", "-Werror", folder.path("all.cpp")});
  EXPECT_EQ(ended.status, 0) << ended.output;
}

/** Runs a kernel of one thread on host memory. */
const char *const kOneThread = R"(
namespace hconv {
namespace twin {
__thread ThreadState *current;
bool register_kernel_entry(const char *, void (*)(), Thunk, const ArgumentType *, int) { return true; }
}
}
#include <cstdio>
int main() {
  hconv::twin::ThreadState thread{};
  hconv::twin::current = &thread;
  float x[8] = {}, y[8] = {};
  shadowed_names(x, 2, y);
  for (float value : y)
    printf("%g ", value);
}
)";

// Each y[t] of ShadowedNames holds its own t; y[3] was written last by y[t] = 3.25f, with the outermost t.
TEST(GoldenCuda, ShadowedNamesKeepTheirMeaning) {
  const Folder folder;
  write_file(folder.path("one.cpp"), "#include \"hconv_prelude.cuh\"\n" +
                                         read_file(golden_folder() + "/CudaPrinter.ShadowedNames.cu") + kOneThread);
  const Ended compiled = run_host_compiler({"-w", folder.path("one.cpp"), "-o", folder.path("one")});
  ASSERT_EQ(compiled.status, 0) << compiled.output;
  EXPECT_EQ(run_program({folder.path("one")}).output, "0 1 2 3.25 4 5 6 7 ");
}

// A stack frame would say that a register array fell into local memory.
TEST(GoldenCuda, CompilesWithNvccAndStaysInRegisters) {
  if (!std::filesystem::exists(HCONV_NVCC))
    GTEST_SKIP() << "no nvcc at " << HCONV_NVCC;
  const Folder folder;
  write_file(folder.path("all.cu"), all_goldens());
  const std::string faults = text_of([&] {
    std::string text;
    const hconv::NvccResult result =
        hconv::run_nvcc({HCONV_NVCC, folder.path("all.cu"), hconv::split(HCONV_PRELUDE, ':'), "90a"});
    if (result.fatbin.empty() || result.resources.empty())
      text += "nothing was compiled\n";
    for (const hconv::KernelResources &r : result.resources) {
      if (r.spill_store_bytes || r.spill_load_bytes || r.stack_bytes)
        text += r.kernel + " needs local memory\n";
    }
    return text;
  });
  EXPECT_EQ(faults, "");
}

} // namespace
