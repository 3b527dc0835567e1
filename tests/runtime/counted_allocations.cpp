#include "counted_allocations.h"

#include <cstdlib>
#include <new>

std::atomic<int64_t> hconv_test::allocations{0};

void *operator new(size_t bytes) {
  ++hconv_test::allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}
