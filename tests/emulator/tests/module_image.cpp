// The image that the fixture loads in the emulator.
#include "emulated_device.h"

namespace emulator_test {

const void *module_image() {
  static const std::vector<unsigned char> image = fatbin_for(2, 90);
  return image.data();
}

} // namespace emulator_test
