#include "dispatch_tuned.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dispatch.h"
#include "error.h"
#include "problem.h"
#include "split.h"

namespace hconv::runtime {
namespace {

double doublings(int64_t a, int64_t b) {
  // An empty batch is tuned like one image: something has to be chosen for it too.
  return std::fabs(
      std::log2(static_cast<double>(std::max<int64_t>(a, 1)) / static_cast<double>(std::max<int64_t>(b, 1))));
}

/// How often 1 is doubled to reach an extent of the kernel.
int kernel_class(int64_t extent) {
  int steps = 0;
  while (steps < 62 && (int64_t{1} << steps) < extent)
    ++steps;
  return steps;
}

bool on_cuda(const hconv_problem &p) {
  return raw(p.device.device_type) == kDLCUDA;
}

bool same_key(const TunedEntry &entry, const hconv_problem &problem, const Machine &machine) {
  hconv_problem anywhere = problem;
  anywhere.device = entry.problem.device;
  return same(entry.problem, anywhere) && (on_cuda(problem) || entry.threads == machine.threads);
}

/// Whether an extent alone puts an entry out of reach: spares most entries of a long table their logarithms.
bool out_of_reach(int64_t a, int64_t b) {
  static const double factor = std::exp2(tuned_reach) * (1 + 1e-9);
  const double x = static_cast<double>(std::max<int64_t>(a, 1)), y = static_cast<double>(std::max<int64_t>(b, 1));
  return x > factor * y || y > factor * x;
}

void add_matches(const TunedTable &table, const hconv_problem &p, const Machine &machine,
                 std::vector<TunedMatch> *matches) {
  // A table has one device.
  if (table.entries.empty() || !is_tuned_device(table.entries[0].device, p, machine))
    return;
  for (const TunedEntry &entry : table.entries) {
    const hconv_problem &t = entry.problem;
    if (out_of_reach(t.batch, p.batch) || out_of_reach(t.in_channels, p.in_channels) ||
        out_of_reach(t.out_channels, p.out_channels))
      continue;
    const double distance = tuned_distance(entry, p, machine);
    if (distance <= tuned_reach)
      matches->push_back({&entry, &table, same_key(entry, p, machine), distance});
  }
}

/// Finds an entry's variant, and of transform its product, of a split variant its parts; "" or why that cannot compute
/// the problem.
std::string resolve(const TunedEntry &entry, const hconv_problem &p, const Machine &machine, const std::string &backend,
                    Tuned *tuned) {
  const size_t plus = entry.variant.find('+');
  const std::string name = entry.variant.substr(0, plus);
  const Variant *variant = find_variant(name), *product = nullptr;
  if (!variant || !is_convolution(variant->algorithm))
    return text("this library has no convolution variant %s", name.c_str());
  if (std::string reason = why_not(*variant, p, machine, backend); !reason.empty())
    return reason;
  int64_t parts = 0;
  if (plus != std::string::npos && variant->split) {
    if (std::string fault = read_parts(entry.variant.substr(plus + 1), *variant, p, &parts); !fault.empty())
      return fault;
  } else if (plus != std::string::npos) {
    if (variant->algorithm != Algorithm::transform)
      return "it is no transform variant, and so has no product kernel";
    const std::string second = entry.variant.substr(plus + 1);
    product = find_variant(second);
    if (!product || product->algorithm != Algorithm::spectral_product)
      return text("this library has no product kernel %s", second.c_str());
    if (std::string reason = why_not_product(*product, *variant, p, machine); !reason.empty())
      return text("%s declines since %s", second.c_str(), reason.c_str());
  } else if (variant->algorithm == Algorithm::transform) {
    std::string reason;
    product = product_for(*variant, p, machine, &reason); // there is one, or why_not had told
  }
  tuned->variant = variant;
  tuned->product = product;
  tuned->parts = parts;
  return "";
}

} // namespace

bool is_tuned_device(const std::string &device, const hconv_problem &p, const Machine &machine) {
  if (!on_cuda(p))
    return device == (machine.avx512 ? "cpu_avx512" : machine.avx2 ? "cpu_avx2" : "cpu_baseline");
  // "sm_90a" and "sm_90" are both of capability 9.0.
  const std::string name = "sm_" + std::to_string(machine.capability);
  return device == name || device == name + "a";
}

double tuned_distance(const TunedEntry &entry, const hconv_problem &p, const Machine &machine) {
  const hconv_problem &t = entry.problem;
  if (!same(t.dtype, p.dtype) || raw(t.math) != raw(p.math) || raw(t.layout) != raw(p.layout) ||
      kernel_class(t.kernel_height) != kernel_class(p.kernel_height) ||
      kernel_class(t.kernel_width) != kernel_class(p.kernel_width))
    return std::numeric_limits<double>::infinity();
  const Geometry a = geometry_of(t), b = geometry_of(p);
  double sum = doublings(t.batch, p.batch) + doublings(t.in_channels, p.in_channels) +
               doublings(t.out_channels, p.out_channels) + doublings(a.output_height, b.output_height) +
               doublings(a.output_width, b.output_width) + doublings(t.kernel_height, p.kernel_height) +
               doublings(t.kernel_width, p.kernel_width);
  if (!on_cuda(p))
    sum += doublings(entry.threads, machine.threads);
  return sum;
}

std::vector<TunedMatch> tuned_matches(const hconv_problem &p, const Machine &machine, const Environment &environment) {
  std::vector<TunedMatch> matches;
  if (environment.tuned)
    add_matches(*environment.tuned, p, machine, &matches);
  for (const TunedTable &table : compiled_tuned_tables())
    add_matches(table, p, machine, &matches);
  std::stable_sort(matches.begin(), matches.end(), [](const TunedMatch &a, const TunedMatch &b) {
    return a.exact != b.exact ? a.exact : a.distance < b.distance;
  });
  return matches;
}

Tuned tuned_choice(const hconv_problem &p, const Machine &machine, const Environment &environment) {
  Tuned tuned;
  tuned.how = Tuned::How::heuristic;
  for (const TunedMatch &match : tuned_matches(p, machine, environment)) {
    std::string reason = resolve(*match.entry, p, machine, environment.backend, &tuned);
    if (reason.empty()) {
      tuned.how = match.exact ? Tuned::How::exact : Tuned::How::nearest;
      tuned.match = match;
      break;
    }
    tuned.skipped.push_back({match, std::move(reason)});
  }
  return tuned;
}

std::string source_of(const Tuned &tuned) {
  if (tuned.how == Tuned::How::exact)
    return "a tuned table has this problem";
  return text("a tuned table has a problem %.3g doublings away", tuned.match.distance);
}

std::string place_of(const TunedMatch &match) {
  return match.table->file + ":" + std::to_string(match.entry->line);
}

} // namespace hconv::runtime
