// Counts every allocation of the program that goes to malloc and its kin, whoever makes it.
#pragma once

#include <atomic>
#include <cstdint>

namespace hconv_test {

/// -1: they cannot be counted, since a sanitizer has its own malloc.
int64_t mallocs();

} // namespace hconv_test
