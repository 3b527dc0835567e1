#include "gpu_loops.h"

using namespace Halide;

namespace hconv {

void never_partition(const std::vector<Func> &funcs) {
  for (Func f : funcs) {
    f.never_partition_all();
    for (int i = 0; i < f.num_update_definitions(); i++)
      f.update(i).never_partition_all();
  }
}

} // namespace hconv
