#include <cstdlib>
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  // Whatever the machine has: these tests are about a machine without CUDA, and about hconv's own choices.
  for (const char *name :
       {"HCONV_VARIANT", "HCONV_BACKEND", "HCONV_CHECK", "HCONV_DEVICE", "HCONV_LOG", "HCONV_LOG_FILE"})
    unsetenv(name);
  setenv("HCONV_CUDA_DRIVER", "libhconv_no_such_driver.so", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
