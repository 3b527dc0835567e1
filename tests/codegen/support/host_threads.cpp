#include "host_threads.h"

namespace hconv_test {

const char *const kHostThreads = R"(
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <vector>
namespace hconv {
namespace twin {
__thread ThreadState *current;
pthread_barrier_t barrier;
alignas(128) unsigned char shared_memory[65536];
bool register_kernel_entry(const char *, void (*)(), Thunk, const ArgumentType *, int) { return true; }
void block_barrier() { pthread_barrier_wait(&barrier); }
void (*kernel_to_run)();
unsigned blocks_to_run;
void *run_thread(void *state) {
  current = static_cast<ThreadState *>(state);
  for (unsigned block = 0; block < blocks_to_run; block++) {
    current->block_index = {block, 0, 0};
    kernel_to_run();
    block_barrier();
  }
  return nullptr;
}
void run_blocks(unsigned blocks, unsigned lanes, unsigned warps, void (*kernel)()) {
  kernel_to_run = kernel;
  blocks_to_run = blocks;
  const unsigned count = lanes * warps;
  pthread_barrier_init(&barrier, nullptr, count);
  std::vector<ThreadState> states(count, ThreadState{});
  std::vector<pthread_t> threads(count);
  for (unsigned t = 0; t < count; t++) {
    states[t].thread_index = {t % lanes, t / lanes, 0};
    states[t].block_extent = {lanes, warps, 1};
    states[t].grid_extent = {blocks, 1, 1};
    states[t].shared = shared_memory;
    pthread_create(&threads[t], nullptr, run_thread, &states[t]);
  }
  for (pthread_t t : threads)
    pthread_join(t, nullptr);
}
}
}
)";

} // namespace hconv_test
