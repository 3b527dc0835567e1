// What a variant is and how it splits its sums, for explain and list.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "dispatch.h"

namespace hconv::runtime {

/// The manifest's keys of a variant; 0: not given.
nlohmann::ordered_json parameters_of(const Variant &variant);

/// How a split variant cuts the sum, and what each number of parts would cost. `choice.parts` is not 0.
nlohmann::ordered_json json_of_parts(const hconv_problem &problem, const Choice &choice, const Machine &machine);
std::string plain_of_parts(const hconv_problem &problem, const Choice &choice, const Machine &machine);

} // namespace hconv::runtime
