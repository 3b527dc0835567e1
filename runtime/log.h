// HCONV_LOG=error|info|debug: one line an event, on stderr or in HCONV_LOG_FILE (appended).
#pragma once

namespace hconv::runtime {

enum class LogLevel { off = 0, error = 1, info = 2, debug = 3 };

/// Writes one line "hconv <level>: ..." if HCONV_LOG asks for `level`. Thread-safe; a line is never torn.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char *format, ...);

/// True when a line of `level` would be written (so that costly texts are built only then).
bool log_enabled(LogLevel level);

} // namespace hconv::runtime
