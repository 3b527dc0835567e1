// What explain says of tuned tables.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "dispatch_tuned.h"

namespace hconv::runtime {

/// null where no table was asked, else {"how": "exact" | "nearest" | "heuristic", "key", "table", "distance", "ms",
/// "date", "runs", "threads", "skipped"}; what does not apply is null.
nlohmann::ordered_json json_of(const Tuned &tuned);

/// Lines of text, "" where no table was asked.
std::string plain_of(const Tuned &tuned);

} // namespace hconv::runtime
