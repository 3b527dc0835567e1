// Failure texts: written to stderr and kept for hconv_emulator_last_message.
#pragma once

#include <string>

namespace hconv::emulator {

/// Writes one line, "hconv emulator: TEXT", to stderr and remembers TEXT as the newest message.
void report(const std::string &text);

std::string last_message();
void clear_last_message();

} // namespace hconv::emulator
