// Lets the emulator's tests run on a real driver and device: those of them that hold on both. What the emulator
// computes is thereby compared with the hardware: fragment layouts, asynchronous copies, conversions, launch limits.
#include "emulated_device.h"

#include <cstring>
#include <string>

// The kernels, compiled by nvcc.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "emulator_test_image:\n"
    ".incbin \"" HCONV_EMULATOR_TEST_IMAGE "\"\n"
    ".popsection\n");
extern "C" const unsigned char emulator_test_image[];

namespace emulator_test {
const void *module_image() {
  return emulator_test_image;
}
} // namespace emulator_test

// The driver has no test hooks. No test of the list below needs what they would do.
extern "C" {
void hconv_emulator_reset(void) {}
size_t hconv_emulator_live_allocations(void) {
  return 0;
}
size_t hconv_emulator_last_message(char *text, size_t) {
  *text = '\0';
  return 0;
}
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string &filter = testing::GTEST_FLAG(filter); // GoogleTest 1.11 has no GTEST_FLAG_SET
  if (filter == "*")
    filter = "Conversions.*:TensorCore.*:"
             "Kernels.IndexesCoverAnyGridAndBlock:Kernels.KernelWithoutArguments:"
             "Kernels.MatmulWithBarriersIsExactForAnySeedAndThreadCount:Kernels.ConvolutionIsExactAndFast:"
             "Kernels.SubnormalsAreKeptWhateverTheCallerHasSet:"
             "AsyncCopy.RightPipelineIsRightUnderEveryTimingAndSeed:AsyncCopy.PartOfACopyIsZeroFilled:"
             "AsyncCopy.NothingIsReadForZeroBytes:Limits.*-TensorCore.LdmatrixRefusesBadRows";
  return RUN_ALL_TESTS();
}
