// Which variant computes a problem. The order of preference is the table in dispatch_table.cpp.
#pragma once

#include <string>
#include <vector>

#include "environment.h"
#include "hconv/hconv.h"
#include "machine.h"
#include "variants.h"

namespace hconv::runtime {

/// An inclusive range; the default holds everything.
struct Range64 {
  int64_t least = 0, most = INT64_MAX;
  bool holds(int64_t value) const { return least <= value && value <= most; }
};

/// One line of the dispatch table: where the conditions hold, variants of `target` with this tile are preferred.
struct Rule {
  Target target;
  int types;                ///< sum of 1 << Type; see dispatch_table.cpp
  Range64 oc, ow, kw;       ///< conditions on the problem
  int64_t least_blocks;     ///< condition on B * ceil(OH / tile_oh) * ceil(OC / tile_oc) * ceil(OW / tile_ow)
  int32_t tile_oc, tile_ow; ///< 0: any
  int32_t tile_oh, stages, warps;
  const char *because; ///< a phrase for explain
};
Table<Rule> dispatch_rules();

struct Declined {
  const Variant *variant;
  std::string reason;
};

struct Choice {
  const Variant *variant = nullptr; ///< null: nothing serves
  const Variant *pack = nullptr;    ///< packs weights for it
  std::string source;               ///< the rule's text, or the pin's
  std::vector<Declined> declined;   ///< every other convolution variant, with a reason
};

/// Extents of the packed weights of `variant`, and their product in elements (-1: it does not fit in 64 bits).
struct PackedExtents {
  int64_t oc, kw, kh, ic, elements;
};
PackedExtents packed_extents(const hconv_problem &problem, const Variant &variant);

/// Why `variant` cannot compute `problem` on `machine`; "" if it can.
std::string why_not(const Variant &variant, const hconv_problem &problem, const Machine &machine,
                    const std::string &backend);

/// Chooses for an accepted problem. On failure a sentence says what was asked for and why nothing serves.
hconv_status choose(const hconv_problem &problem, const Machine &machine, const Environment &environment,
                    Choice *choice);

} // namespace hconv::runtime
