// Which variant computes a problem: the one that HCONV_VARIANT pins, else the one that a tuned table names for the
// problem or for a near one (dispatch_tuned.h), else on CUDA the cheapest one that can serve (dispatch_cost.cpp,
// dispatch_transform.cpp), with the speeds of dispatch_table.cpp; on the CPU the cheapest of the first target in the
// order of dispatch_table.cpp.
//
// Costs are times in one unit, in which a multiprocessor full of blocks of the fastest direct kernel computes one
// product. On an H200 that is 1/200 ns: over shapes/perf.txt that kernel gave 190 to 210 products a nanosecond on each
// of 132 multiprocessors (2,128,256,256,16,16 in 21.1 ms is a modelled 4.0e9). The launch of a variant of
// dispatch_speeds() is not in its cost.
#pragma once

#include <string>
#include <vector>

#include "dispatch_tuned.h"
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
  int32_t thread_oc, thread_ow, thread_oh; ///< of mma and wgmma: the tile of a warp
  int32_t kw, kw_tile, kh_tile;
  double speed;        ///< products in a unit of time of one multiprocessor that is full of the variant's blocks
  int32_t layout = 0;  ///< HCONV_LAYOUT_NHWC, or 0: either one
  int32_t at_once = 0; ///< blocks of which a multiprocessor is full; 0: the variant's min_blocks
};
Table<Speed> dispatch_speeds(); ///< of whole runs, with all that is neither products nor a conversion
Table<Speed> sum_speeds();      ///< of the sums alone; what MatrixSpeeds says is added. Comes first
bool holds(const Speed &speed, const Variant &variant);

/// What a run on tensor cores takes besides its sums.
struct MatrixSpeeds {
  double launch;        ///< nanoseconds of a launch, until its blocks compute
  double packing_bytes; ///< of x that one multiprocessor packs in a nanosecond: read and written
  double narrow_store;  ///< nanoseconds in which a multiprocessor stores 8 neighbours of y, 2 or 4 bytes a lane
  double wide_store;    ///< the same, 16 bytes a lane
  double further_store; ///< of each further store that a lane needs where its 8 do not start at 16 bytes, or are fewer
};
MatrixSpeeds matrix_speeds();

/// The same for product kernels: real products, of which a complex one has 3 or 4.
struct ProductSpeed {
  int32_t tile_oc, tile_ow, thread_oc, thread_ow, products;
  double speed;
};
Table<ProductSpeed> product_speeds();
bool holds(const ProductSpeed &speed, const Variant &variant);

/// What the other phases of a transform variant take.
struct TransformSpeeds {
  double nanosecond;   ///< in the unit of time
  double memory_bytes; ///< that one multiprocessor's share of device memory moves in a nanosecond
  double cache_bytes;  ///< the same where a chunk's spectra stay in the L2 cache
  double cached;       ///< bytes of a chunk's X, Y and W up to which they do
  double launch;       ///< nanoseconds of each launch but the first
};
TransformSpeeds transform_speeds();

/// How well the transforms of one size of tile use that: the first line whose `longest` and `shortest` are at least the
/// longer and the shorter extent of a tile holds.
struct TileSpeed {
  int32_t longest, shortest;
  double bandwidth; ///< share of the bytes that they move in a nanosecond
  double latency;   ///< nanoseconds of one block alone, from its loads over its barriers to its stores
};
Table<TileSpeed> tile_speeds();

/// What a split variant takes besides its sums.
struct SplitSpeeds {
  double second_stage; ///< nanoseconds of the second launch, until its blocks read
  double part_bytes;   ///< of the parts, written and read again, that one multiprocessor's share moves in a nanosecond
};
SplitSpeeds split_speeds();

/// The same on a CPU, relative to products of its direct kernels, one core's.
struct CpuTransformSpeeds {
  double product;        ///< real products of the spectral product
  double fft_operations; ///< operations of the transforms
  double bytes;          ///< of spectra written or read
};
CpuTransformSpeeds cpu_transform_speeds(Target target);

/// The CPU's targets, the preferred one first.
struct Preference {
  Target target;
  const char *because; ///< a phrase for explain
};
Table<Preference> cpu_preferences();

/// What a CUDA variant is expected to take. Of transform, blocks, waves and speed are those of the product.
struct Cost {
  int64_t blocks = 0; ///< of all launches together
  int64_t waves = 0;  ///< how often the device is filled with blocks, the last time perhaps partly
  double speed = 1;   ///< of the table
  double value =
      0; ///< time, in the table's unit: of transform, tensor cores and split variants the sum of the next five
  double input = 0, product = 0, output = 0, launches = 0;
  double conversion = 0; ///< of x and y between layouts
};
/// `product` is the product kernel of a transform variant, else null; `parts` those of a split variant, 0 for the best.
Cost cost_of(const Variant &variant, const Variant *product, const hconv_problem &problem, const Machine &machine,
             int64_t parts = 0);
/// The blocks alone of a variant that is not of transform, each of which adds up one of `parts` parts.
Cost block_cost_of(const Variant &variant, const hconv_problem &problem, const Machine &machine, int64_t parts);

Cost transform_cost_of(const Variant &transform, const Variant &product, const hconv_problem &problem,
                       const Machine &machine);

/// How many blocks a multiprocessor computes one after another, as long as it has `at_once` of them side by side.
struct Turns {
  int64_t waves;
  double blocks;
};
Turns turns_of(int64_t blocks, int32_t at_once, const Machine &machine);
double speed_of(const Variant &variant);
/// Blocks of the variant, which is not of transform, of which a multiprocessor is full.
int32_t blocks_at_once(const Variant &variant);
/// The line of sum_speeds() that holds for a variant, or null.
const Speed *sum_speed_of(const Variant &variant);
/// Stores that a lane needs for 8 neighbours in y, on average over the rows of y: 1 where each row starts at 16 bytes.
double stores_of_8(const Variant &variant, int64_t output_width);

/// A CPU variant's cost: products of a direct kernel.
double cpu_cost_of(const Variant &variant, const Variant *product, const hconv_problem &problem);

/// The cheapest product kernel for a transform variant, or null with a reason why none can serve.
const Variant *product_for(const Variant &transform, const hconv_problem &problem, const Machine &machine,
                           std::string *reason);
/// Why a product kernel cannot serve a transform variant; "" if it can.
std::string why_not_product(const Variant &product, const Variant &transform, const hconv_problem &problem,
                            const Machine &machine);
/// Why the device cannot hold a block of the variant; "" if it can.
std::string needs_more_shared_memory(const Variant &variant, const Machine &machine);

struct Declined {
  const Variant *variant;
  std::string reason;
};

struct Choice {
  const Variant *variant = nullptr;    ///< null: nothing serves
  const Variant *product = nullptr;    ///< multiplies spectra for it; null: not of transform
  const Variant *pack = nullptr;       ///< packs weights for it; null: of transform
  const Variant *pack_input = nullptr; ///< packs x for it; null where it reads x itself
  const Variant *transpose = nullptr;  ///< converts between the layouts of the tensors and of the variant, if needed
  const Variant *sum_parts = nullptr;  ///< adds up its parts; null: it is not split
  int64_t parts = 0;                   ///< of a split variant, else 0
  std::string source;                  ///< what decided: a phrase for explain
  Tuned tuned;                         ///< what the tuned tables said
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
