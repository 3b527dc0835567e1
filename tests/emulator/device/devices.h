// The arenas of all devices.
#pragma once

#include "arena.h"

namespace hconv::emulator {

/// `device` from 0 to 63. The arena is made at the first call and lives as long as the process.
Arena &arena_of(int device);

/// The device whose range holds this address, -1 for none.
int device_of(uintptr_t address);

/// Arena::describe of the right device; empty when the address belongs to none.
std::string describe_device_address(uintptr_t address);

} // namespace hconv::emulator
