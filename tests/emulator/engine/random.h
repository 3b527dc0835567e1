// A small generator for scheduling orders: the same seed gives the same order on every machine.
#pragma once

#include <cstdint>

namespace hconv::emulator {

class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}

  /// splitmix64: any seed will do, zero included.
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// A number from 0 to bound - 1; bound must be positive.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(((next() >> 32) * bound) >> 32); }

private:
  uint64_t state_;
};

/// Mixes two numbers into a seed.
inline uint64_t mixed_seed(uint64_t a, uint64_t b) {
  return Random(a ^ (b * 0xd1342543de82ef95u)).next();
}

} // namespace hconv::emulator
