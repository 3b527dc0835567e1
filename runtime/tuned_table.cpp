// The parser of tuned tables. It depends on nothing else of the library: the build checks schedules/tuned/ with it
// (cmake/embed_tuned_tables.cpp).
#include "tuned_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

namespace hconv::runtime {
namespace {

constexpr int64_t largest = INT32_MAX;
constexpr size_t extents = 11;
constexpr const char *extent_names[extents] = {"B", "C", "H", "W", "KH", "KW", "OC", "PT", "PB", "PL", "PR"};
constexpr const char *extent_list = "B,C,H,W,KH,KW,OC,PT,PB,PL,PR";
constexpr size_t first_padding = 7;

using Words = std::vector<std::string_view>;

Words split(std::string_view text, char separator) {
  Words words;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    words.push_back(text.substr(begin, end == text.npos ? text.npos : end - begin));
    if (end == text.npos)
      return words;
    begin = end + 1;
  }
}

/// A word of the file inside quotes, printable and not too long.
std::string quoted(std::string_view word) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "'";
  for (const char c : word.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result.append("\\x") += {digits[byte / 16], digits[byte % 16]};
  }
  return result + (word.size() > 80 ? "...'" : "'");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool all_digits(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}

/// A whole number as it would be printed, up to `largest`; false otherwise.
bool read_number(std::string_view word, int64_t *value) {
  if (!all_digits(word) || word.size() > 10 || (word.size() > 1 && word[0] == '0'))
    return false;
  *value = 0;
  for (const char c : word)
    *value = *value * 10 + (c - '0');
  return *value <= largest;
}

/// Digits with perhaps a point between them, at most 6 that are significant, and not 0.
bool read_ms(std::string_view word, double *value) {
  const size_t point = word.find('.');
  const std::string_view whole = word.substr(0, point);
  if (word.size() > 24 || !all_digits(whole) || (whole.size() > 1 && whole[0] == '0'))
    return false;
  if (point != word.npos && !all_digits(word.substr(point + 1)))
    return false;
  std::string digits(word);
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  const size_t first = digits.find_first_not_of('0');
  if (first == digits.npos || digits.size() - first > 6)
    return false;
  // Not strtod, whose decimal point is the locale's: 6 digits over a power of ten are exact or rounded once.
  double number = 0, scale = 1;
  for (const char c : digits)
    number = number * 10 + (c - '0');
  for (size_t i = point == word.npos ? word.size() : point + 1; i < word.size(); ++i)
    scale *= 10;
  *value = number / scale;
  return true;
}

bool is_date(std::string_view word) {
  if (word.size() != 10 || word[4] != '-' || word[7] != '-')
    return false;
  for (size_t i = 0; i < word.size(); ++i)
    if (i != 4 && i != 7 && !is_digit(word[i]))
      return false;
  const auto number = [&](size_t at, size_t length) { return std::atoi(std::string(word.substr(at, length)).c_str()); };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 1 || month < 1 || month > 12)
    return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

bool is_name(std::string_view word) {
  return !word.empty() && !is_digit(word[0]) && std::all_of(word.begin(), word.end(), [](char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

bool is_cpu(std::string_view device) {
  return device == "cpu_avx512" || device == "cpu_avx2" || device == "cpu_baseline";
}

/// sm_ and a compute capability of two or three digits, perhaps with the 'a' of an architecture-specific target.
bool is_gpu(std::string_view device) {
  if (device.substr(0, 3) != "sm_")
    return false;
  std::string_view number = device.substr(3);
  if (!number.empty() && number.back() == 'a')
    number.remove_suffix(1);
  return all_digits(number) && number[0] != '0' && (number.size() == 2 || number.size() == 3);
}

template <class Value> struct Named {
  const char *name;
  Value value;
};
constexpr Named<DLDataType> types[] = {
    {"f32", {kDLFloat, 32, 1}}, {"bf16", {kDLBfloat, 16, 1}}, {"f16", {kDLFloat, 16, 1}}};
constexpr Named<hconv_math> modes[] = {
    {"fp32", HCONV_MATH_FP32}, {"strict", HCONV_MATH_STRICT}, {"tf32", HCONV_MATH_TF32}};

constexpr Named<hconv_layout> layouts[] = {{"nchw", HCONV_LAYOUT_NCHW}, {"nhwc", HCONV_LAYOUT_NHWC}};

template <class Value, size_t N> bool find(const Named<Value> (&table)[N], std::string_view name, Value *value) {
  for (const auto &row : table)
    if (name == row.name) {
      *value = row.value;
      return true;
    }
  return false;
}

using Extents = std::array<int64_t, extents>;
Extents extents_of(const hconv_problem &p) {
  return {p.batch,        p.in_channels, p.height,         p.width,        p.kernel_height, p.kernel_width,
          p.out_channels, p.padding.top, p.padding.bottom, p.padding.left, p.padding.right};
}

std::string parse_extents(std::string_view word, hconv_problem *p) {
  const Words words = split(word, ',');
  if (words.size() != extents)
    return "The problem " + quoted(word) + " has " + std::to_string(words.size()) + " numbers; expected the 11 of " +
           extent_list + ".";
  Extents e;
  for (size_t i = 0; i < extents; ++i) {
    const int64_t least = i < first_padding ? 1 : 0;
    if (!read_number(words[i], &e[i]) || e[i] < least)
      return std::string(extent_names[i]) + " is " + quoted(words[i]) + "; expected a whole number from " +
             std::to_string(least) + " to " + std::to_string(largest) + ".";
  }
  p->batch = e[0];
  p->in_channels = e[1];
  p->height = e[2];
  p->width = e[3];
  p->kernel_height = e[4];
  p->kernel_width = e[5];
  p->out_channels = e[6];
  p->padding = {static_cast<int32_t>(e[7]), static_cast<int32_t>(e[8]), static_cast<int32_t>(e[9]),
                static_cast<int32_t>(e[10])};
  if (e[2] + e[7] + e[8] < e[4] || e[3] + e[9] + e[10] < e[5])
    return "The problem " + quoted(word) + " has no output: the kernel is larger than the padded image.";
  return "";
}

std::string parse_key(const Words &words, TunedEntry *entry) {
  const bool cpu = is_cpu(words[0]);
  if (!cpu && !is_gpu(words[0]))
    return "The device is " + quoted(words[0]) +
           "; expected sm_ and a compute capability (sm_90a, sm_80), cpu_avx512, cpu_avx2 or cpu_baseline.";
  entry->device = words[0];
  entry->problem.device = {cpu ? kDLCPU : kDLCUDA, 0};
  if (!find(types, words[1], &entry->problem.dtype))
    return "The type is " + quoted(words[1]) + "; expected f32, bf16 or f16.";
  if (!find(modes, words[2], &entry->problem.math))
    return "The mode is " + quoted(words[2]) + "; expected fp32, strict or tf32.";
  if (!find(layouts, words[3], &entry->problem.layout))
    return "The layout is " + quoted(words[3]) + "; expected nchw or nhwc.";
  return parse_extents(words[4], &entry->problem);
}

/// The value of `key=value`; sets *fault where the word is something else.
std::string_view value_of(std::string_view word, const std::string &key, std::string *fault) {
  if (word.substr(0, key.size() + 1) == key + "=")
    return word.substr(key.size() + 1);
  if (fault->empty())
    *fault = "Found " + quoted(word) + "; expected " + key + "= here.";
  return "";
}

std::string parse_result(const Words &words, TunedEntry *entry) {
  const Words names = split(words[6], '+');
  int64_t parts;
  if (names.size() > 2 || !is_name(names.front()) ||
      !(is_name(names.back()) || (names.size() == 2 && read_number(names.back(), &parts) && parts > 0)))
    return "The variant is " + quoted(words[6]) + "; expected a name that `hconv list` shows, of a transform variant " +
           "with a '+' and its product kernel's, of a split variant with a '+' and its number of parts.";
  entry->variant = words[6];
  const bool cpu = is_cpu(entry->device);
  std::string fault;
  const std::string_view ms = value_of(words[7], "ms", &fault), date = value_of(words[8], "date", &fault),
                         runs = value_of(words[9], "runs", &fault),
                         threads = words.size() > 10 ? value_of(words[10], "threads", &fault) : "";
  if (!fault.empty())
    return fault;
  if (!read_ms(ms, &entry->ms))
    return "ms is " + quoted(ms) + "; expected a decimal number above 0 of at most 6 significant digits.";
  if (!is_date(date))
    return "date is " + quoted(date) + "; expected a day as YYYY-MM-DD.";
  entry->date = date;
  if (!read_number(runs, &entry->runs) || entry->runs < 1)
    return "runs is " + quoted(runs) + "; expected a whole number of at least 1.";
  if (cpu != (words.size() > 10))
    return cpu ? "threads= is missing; expected it after runs= of an entry for a CPU."
               : "Found " + quoted(words[10]) + "; expected nothing after runs= of an entry for a GPU.";
  if (cpu && (!read_number(threads, &entry->threads) || entry->threads < 1))
    return "threads is " + quoted(threads) + "; expected a whole number of at least 1.";
  return "";
}

std::string parse_entry(std::string_view line, TunedEntry *entry) {
  const Words words = split(line, ' ');
  if (std::find(words.begin(), words.end(), "") != words.end())
    return "Two spaces stand side by side, or one at an end of the line; expected single spaces between the fields.";
  if (words.size() < 10 || words.size() > 11)
    return "The line has " + std::to_string(words.size()) + " fields; expected DEVICE TYPE MODE LAYOUT " + extent_list +
           " -> VARIANT ms= date= runs=, and threads= for a CPU.";
  if (words[5] != "->")
    return "Found " + quoted(words[5]) + " after the problem; expected ->.";
  std::string fault = parse_key(words, entry);
  return fault.empty() ? parse_result(words, entry) : fault;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == line.npos;
}

} // namespace

std::string key_of(const TunedEntry &entry) {
  std::string result = entry.device + " ";
  for (const auto &type : types)
    if (type.value.code == entry.problem.dtype.code && type.value.bits == entry.problem.dtype.bits)
      result += type.name;
  for (const auto &mode : modes)
    if (mode.value == entry.problem.math)
      result += std::string(" ") + mode.name;
  for (const auto &layout : layouts)
    if (layout.value == entry.problem.layout)
      result += std::string(" ") + layout.name;
  char separator = ' ';
  for (const int64_t extent : extents_of(entry.problem)) {
    result += separator + std::to_string(extent);
    separator = ',';
  }
  return result;
}

std::string parse_tuned_table(std::string_view text, const std::string &file, TunedTable *table) {
  *table = {};
  table->file = file;
  std::map<std::string, int64_t> lines_by_key;
  std::string_view previous;
  int64_t number = 0;
  const auto at = [&](const std::string &sentence) { return file + ":" + std::to_string(number) + ": " + sentence; };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    if (is_blank(line) || line[0] == '#')
      continue;
    TunedEntry entry{};
    entry.line = number;
    if (const std::string fault = parse_entry(line, &entry); !fault.empty())
      return at(fault);
    if (!table->entries.empty()) {
      const TunedEntry &before = table->entries.back();
      if (before.device != entry.device)
        return at("The device is " + quoted(entry.device) + ", and in line " + std::to_string(before.line) + " it is " +
                  quoted(before.device) + "; expected one device in a file.");
      const auto [found, is_new] = lines_by_key.emplace(key_of(entry), number);
      if (!is_new)
        return at("The problem " + quoted(found->first) + " was already given in line " +
                  std::to_string(found->second) + "; expected each problem once.");
      if (line < previous)
        return at("The line comes before line " + std::to_string(before.line) +
                  " in the order of bytes; expected sorted lines.");
    } else
      lines_by_key.emplace(key_of(entry), number);
    previous = line;
    table->entries.push_back(std::move(entry));
  }
  return "";
}

} // namespace hconv::runtime
