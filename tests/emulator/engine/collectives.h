// What a warp computes together, after all its lanes have arrived.
#pragma once

#include "fiber.h"

#include <string>

namespace hconv::emulator {

constexpr int kWarpLanes = 32;

/// lanes[l] is the operation that lane l waits in; all are the same operation. Lanes hold matrix fragments as the PTX
/// ISA lays them out. `shared` is the block's shared memory of `shared_bytes`. Returns a sentence when ldmatrix gets a
/// row address that the device would refuse, and nothing was loaded then; else an empty string.
std::string perform(const Collective *const (&lanes)[kWarpLanes], const unsigned char *shared, size_t shared_bytes);

const char *name_of(const Collective &operation);

} // namespace hconv::emulator
