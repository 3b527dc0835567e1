// What tuned tables say about a problem: the entry for it, or that of the nearest one.
#pragma once

#include <string>
#include <vector>

#include "environment.h"
#include "machine.h"
#include "tuned_table.h"
#include "variants.h"

namespace hconv::runtime {

/// How far away an entry may be that stands in for a problem, in doublings.
constexpr double tuned_reach = 1.0;

/// An entry that holds for a problem.
struct TunedMatch {
  const TunedEntry *entry;
  const TunedTable *table;
  bool exact;      ///< its key is the problem's, and on a CPU its number of threads the machine's
  double distance; ///< in doublings: 1 is one extent doubled, or two by a factor of 1.41
};

/// Whether a table's DEVICE is the one that computes `problem` on this machine.
bool is_tuned_device(const std::string &device, const hconv_problem &problem, const Machine &machine);

/// The sum of |log2(a / b)| over B, IC, OC, OH, OW, KH, KW and, on a CPU, threads. Infinite where an entry says nothing
/// about the problem: another element type, mode, layout or class of kernel. KH and KW each have the class of the power
/// of two that they are rounded up to: 1, 2, 3 to 4, 5 to 8, 9 to 16 and so on.
double tuned_distance(const TunedEntry &entry, const hconv_problem &problem, const Machine &machine);

/// Entries for this device within tuned_reach, those to be tried first in front: exact ones, then by distance; of
/// equals HCONV_TUNED_FILE's, then the earlier line.
std::vector<TunedMatch> tuned_matches(const hconv_problem &problem, const Machine &machine,
                                      const Environment &environment);

/// An entry that would have come first, and why its variant does not serve.
struct TunedSkip {
  TunedMatch match;
  std::string reason;
};

/// What the tables decided. Entries live as long as the process, or as the Environment that was given.
struct Tuned {
  enum class How {
    not_asked, ///< HCONV_VARIANT pins, or HCONV_TUNED=0
    heuristic, ///< no entry near enough, or none that can serve
    exact,
    nearest
  } how = How::not_asked;
  TunedMatch match{};             ///< of exact and nearest
  std::vector<TunedSkip> skipped; ///< came before that
  const Variant *variant = nullptr, *product = nullptr;
  int64_t parts = 0; ///< that the entry names for a split variant, else 0
};

/// The variant of the first entry that can serve.
Tuned tuned_choice(const hconv_problem &problem, const Machine &machine, const Environment &environment);

/// A phrase for Choice::source.
std::string source_of(const Tuned &tuned);

/// "schedules/tuned/sm_90a.txt:12"
std::string place_of(const TunedMatch &match);

} // namespace hconv::runtime
