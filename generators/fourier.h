/** Short discrete Fourier transforms, written out as expressions. */
#pragma once

#include "Halide.h"
#include <functional>
#include <vector>

namespace hconv {

struct Complex {
  Halide::Expr re, im;
};

/** The points of one line. */
using Line = std::vector<Complex>;

/** Gives a line's values a place and returns expressions that read it: without one, what several outputs share would be
 * written out again in each. */
using Hold = std::function<Line(const Line &)>;

enum class Direction { forward, inverse };

/** The transform of a line, not scaled: out[k] = sum over j of in[j] * exp(-+ 2 pi i j k / N), - when forward. N is a
 * power of two. Each of its log2 N levels of butterflies reads the one before through `hold`; the last is returned as
 * it is. */
Line fourier_transform(const Line &in, Direction direction, const Hold &hold);

/** The same in passes of up to `levels` levels. Within a pass, 2^levels points at a time go through its levels before
 * the next do, so that they can stay in registers; hold is called for those points. */
Line fourier_transform(const Line &in, Direction direction, const Hold &hold, int levels);

} // namespace hconv
