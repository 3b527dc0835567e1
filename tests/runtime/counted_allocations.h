// Counts every operator new of the program, hconv's own among them.
#pragma once

#include <atomic>
#include <cstdint>

namespace hconv_test {

extern std::atomic<int64_t> allocations;

} // namespace hconv_test
