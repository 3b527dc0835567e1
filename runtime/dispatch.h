// Which variant computes a problem. On CUDA the cheapest one that can serve (dispatch_cost.cpp), with the speeds of
// dispatch_table.cpp; on the CPU the first target of the order in dispatch_table.cpp.
#pragma once

#include <string>
#include <vector>

#include "environment.h"
#include "hconv/hconv.h"
#include "machine.h"
#include "variants.h"

namespace hconv::runtime {

/// One line of the table of speeds. It holds for the variants of `algorithm` that agree with each number that is not 0;
/// the first line that holds for a variant gives its speed.
struct Speed {
  Algorithm algorithm;
  int32_t tile_oc, tile_ow, tile_oh;
  int32_t thread_oc, thread_ow, thread_oh; ///< of mma: the tile of a warp
  int32_t kw, kw_tile, kh_tile;
  double speed; ///< products in a unit of time of one multiprocessor that is full of the variant's blocks
};
Table<Speed> dispatch_speeds();
bool holds(const Speed &speed, const Variant &variant);

/// The CPU's targets, the preferred one first.
struct Preference {
  Target target;
  const char *because; ///< a phrase for explain
};
Table<Preference> cpu_preferences();

/// What a CUDA variant is expected to take.
struct Cost {
  int64_t blocks = 0; ///< of all launches together
  int64_t waves = 0;  ///< how often the device is filled with blocks, the last time perhaps partly
  double speed = 1;   ///< of the table
  double value = 0;   ///< time, in the table's unit
};
Cost cost_of(const Variant &variant, const hconv_problem &problem, const Machine &machine);

struct Declined {
  const Variant *variant;
  std::string reason;
};

struct Choice {
  const Variant *variant = nullptr;    ///< null: nothing serves
  const Variant *pack = nullptr;       ///< packs weights for it
  const Variant *pack_input = nullptr; ///< packs x for it; null where it reads x itself
  std::string source;                  ///< what decided: a phrase for explain
  std::vector<Declined> declined;      ///< every other convolution variant, with a reason
  Cost cost;                           ///< of `variant`; without a meaning on the CPU
  const Variant *runner_up = nullptr;  ///< on CUDA, the cheapest other variant that could serve; null: there is none
  Cost runner_up_cost;
};

/// Why `variant` cannot compute `problem` on `machine`; "" if it can.
std::string why_not(const Variant &variant, const hconv_problem &problem, const Machine &machine,
                    const std::string &backend);

/// Chooses for an accepted problem. On failure a sentence says what was asked for and why nothing serves.
hconv_status choose(const hconv_problem &problem, const Machine &machine, const Environment &environment,
                    Choice *choice);

} // namespace hconv::runtime
