#include "split.h"

#include <algorithm>
#include <charconv>

#include "error.h"
#include "tiling.h"
#include "validation.h"

namespace hconv::runtime {

int64_t channel_steps(const hconv_problem &p, const Variant &v) {
  return tiles_of(p.in_channels, v.ic);
}

std::string why_not_parts(const Variant &v, const hconv_problem &p, int64_t parts) {
  const int64_t steps = channel_steps(p, v);
  if (parts < 1 || parts > most_parts || steps % parts != 0)
    return text("it was asked for %lld parts, and takes divisors of its %lld steps of %d channels up to %lld",
                wide(parts), wide(steps), v.ic, wide(most_parts));
  if (parts > 1 && geometry_of(p).y_image > (element_limit - 1) / parts)
    return text("%lld parts of an image of y would have 2^31 elements or more", wide(parts));
  return "";
}

std::vector<int64_t> possible_parts(const Variant &v, const hconv_problem &p) {
  std::vector<int64_t> all;
  for (int64_t parts = 1; parts <= most_parts; ++parts)
    if (why_not_parts(v, p, parts).empty())
      all.push_back(parts);
  return all;
}

int64_t parts_for(const Variant &v, const hconv_problem &p, const Machine &machine) {
  int64_t best = 1;
  double least = split_cost_of(v, best, p, machine).value;
  for (int64_t parts : possible_parts(v, p)) {
    const double cost = split_cost_of(v, parts, p, machine).value;
    if (cost < least) {
      best = parts;
      least = cost;
    }
  }
  return best;
}

Cost split_cost_of(const Variant &v, int64_t parts, const hconv_problem &p, const Machine &machine) {
  Cost cost = block_cost_of(v, p, machine, parts);
  const Geometry g = geometry_of(p);
  const double nanosecond = transform_speeds().nanosecond; // of the same device, in the same unit
  const SplitSpeeds s = split_speeds();
  const double outputs = static_cast<double>(std::max<int64_t>(p.batch, 1)) * static_cast<double>(g.y_image);
  const double part_bytes = 2 * 4 * outputs * static_cast<double>(parts);
  cost.output = nanosecond * (part_bytes + outputs * static_cast<double>(g.element_bytes)) /
                (s.part_bytes * std::max(machine.multiprocessors, 1));
  cost.launches += nanosecond * s.second_stage;
  cost.value = cost.input + cost.product + cost.output + cost.launches;
  return cost;
}

std::string read_parts(const std::string &word, const Variant &v, const hconv_problem &p, int64_t *parts) {
  const char *end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, *parts);
  if (read.ec != std::errc() || read.ptr != end)
    return text("'%s' behind the '+' is no number of parts", word.c_str());
  return why_not_parts(v, p, *parts);
}

} // namespace hconv::runtime
