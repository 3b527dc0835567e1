#include "variants.h"

#include "device.h"

#include <gtest/gtest.h>
#include <iostream>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  char device[256] = "";
  size_t size = sizeof device;
  hconv_device_name(hconv_test::test_device(), device, &size);
  std::cout << "device: " << device << (hconv_test::emulated() ? " (emulated)" : "") << ", "
            << hconv_test::all_variants().size() << " variants" << (hconv_test::full_run() ? ", full products" : "")
            << std::endl;
  return RUN_ALL_TESTS();
}
