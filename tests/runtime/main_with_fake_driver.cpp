#include <cstdlib>
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  for (const char *name :
       {"HCONV_VARIANT", "HCONV_BACKEND", "HCONV_CHECK", "HCONV_DEVICE", "HCONV_LOG", "HCONV_LOG_FILE"})
    unsetenv(name);
  setenv("HCONV_CUDA_DRIVER", HCONV_FAKE_DRIVER, 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
