// Texts for people and JSON for programs: explain and list.
#pragma once

#include <string>

#include "hconv/hconv.h"

namespace hconv::runtime {

/// Copies `content` to the caller under the buffer rules of hconv_explain.
hconv_status deliver(const std::string &content, char *text, size_t *size);

/// HCONV_TEXT or HCONV_JSON, or a refusal.
hconv_status check_format(hconv_format format);

} // namespace hconv::runtime
