#include "cuda_types.h"

#include <cctype>
#include <cmath>
#include <cstring>
#include <sstream>
#include <vector>

using namespace Halide;

namespace hconv {

std::string cuda_type(Type type) {
  _halide_user_assert((type.lanes() & (type.lanes() - 1)) == 0)
      << "A vector of " << type.lanes() << " lanes has no CUDA spelling, expected a power of two";
  if (type.lanes() > 1)
    return "hconv::vec<" + cuda_type(type.element_of()) + ", " + std::to_string(type.lanes()) + ">";
  if (type.is_bool())
    return "bool";
  if (type == BFloat(16))
    return "hconv::bfloat16";
  if (type == Float(16))
    return "hconv::half";
  if (type == Float(32))
    return "float";
  if (type == Float(64))
    return "double";
  if (type.is_int() || type.is_uint())
    return (type.is_uint() ? "uint" : "int") + std::to_string(type.bits()) + "_t";
  _halide_user_error << "Type " << type << " has no CUDA spelling";
  return "";
}

std::string cuda_float(double value, Type type) {
  std::ostringstream text;
  if (type == Float(64) && std::isfinite(value)) {
    text.precision(17);
    text << std::showpoint << value;
    return text.str();
  }
  const float single = float(value);
  if (std::isfinite(single)) {
    text.precision(9);
    text << single;
    if (text.str().find_first_of(".e") == std::string::npos)
      text << ".0";
    text << "f";
  } else {
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    text << "hconv::float_from_bits(" << bits << "u)";
  }
  return type == Float(32) ? text.str() : cuda_type(type) + "(" + text.str() + ")";
}

namespace {

/** "acc.s1.r$x.kw" -> "kw"; "x.stride.3" -> "x_stride_3"; "allocgroup__w_tile.0__x_tile.1" -> "w_tile_x_tile". */
std::string short_name(const std::string &name) {
  const std::string group = "allocgroup__";
  const bool is_group = name.compare(0, group.size(), group) == 0;
  std::vector<std::string> parts(1);
  for (const char c : is_group ? name.substr(group.size()) : name) {
    if (c == '.' && !parts.back().empty())
      parts.emplace_back();
    else if (c != '.')
      parts.back() += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  std::string result;
  if (is_group) {
    // "w_tile", "0__x_tile", "1": the numbers only make the names unique.
    for (const std::string &part : parts) {
      const size_t start = part.find_first_not_of("0123456789_");
      if (start != std::string::npos)
        result += (result.empty() ? "" : "_") + part.substr(start);
    }
  } else {
    // Of a loop's name, the last part is the schedule's; a buffer's field and Halide's own suffixes say nothing alone.
    static const std::set<std::string> dependent = {"min",  "max", "extent",  "stride",
                                                    "base", "s",   "new_min", "new_max"};
    size_t first = parts.size() - 1;
    auto says_nothing = [&](const std::string &part) {
      return dependent.count(part) || part.find_first_not_of("0123456789_") == std::string::npos;
    };
    while (first > 0 && says_nothing(parts[first]))
      first--;
    for (size_t i = first; i < parts.size(); i++) {
      result += (result.empty() ? "" : "_") + parts[i];
    }
  }
  while (!result.empty() && result.back() == '_')
    result.pop_back();
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0])))
    result = "v" + result;
  return result;
}

// What a short name must not hide.
const char *const kReserved[] = {"alignas",      "alignof",    "and",          "and_eq",      "asm",
                                 "auto",         "bitand",     "bitor",        "bool",        "break",
                                 "case",         "catch",      "char",         "char16_t",    "char32_t",
                                 "class",        "compl",      "const",        "constexpr",   "continue",
                                 "decltype",     "default",    "delete",       "do",          "double",
                                 "else",         "enum",       "explicit",     "export",      "extern",
                                 "false",        "float",      "for",          "friend",      "goto",
                                 "if",           "inline",     "int",          "long",        "mutable",
                                 "namespace",    "new",        "noexcept",     "not",         "not_eq",
                                 "nullptr",      "operator",   "or",           "or_eq",       "private",
                                 "protected",    "public",     "register",     "return",      "short",
                                 "signed",       "sizeof",     "static",       "struct",      "switch",
                                 "template",     "this",       "throw",        "true",        "try",
                                 "typedef",      "typeid",     "typename",     "union",       "unsigned",
                                 "using",        "virtual",    "void",         "volatile",    "wchar_t",
                                 "while",        "xor",        "xor_eq",       "int8_t",      "int16_t",
                                 "int32_t",      "int64_t",    "uint8_t",      "uint16_t",    "uint32_t",
                                 "uint64_t",     "threadIdx",  "blockIdx",     "blockDim",    "gridDim",
                                 "warpSize",     "shared",     "hconv",        "NULL",        "static_assert",
                                 "thread_local", "const_cast", "dynamic_cast", "static_cast", "reinterpret_cast",
                                 "select",       "min",        "max"};

} // namespace

const std::string &CudaNames::of(const std::string &name, const std::string &wish) {
  const auto known = names.find(name);
  if (known != names.end())
    return known->second;
  if (taken.empty())
    taken.insert(std::begin(kReserved), std::end(kReserved));
  const std::string base = short_name(wish.empty() ? name : wish);
  std::string candidate = base;
  for (int i = 1; !taken.insert(candidate).second; i++)
    candidate = base + "_" + std::to_string(i);
  return names[name] = candidate;
}

} // namespace hconv
