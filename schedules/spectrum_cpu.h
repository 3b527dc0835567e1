/** CPU schedules of the transforms. */
#pragma once

#include "generators/spectrum_blocked.h"

namespace hconv {

/** How the transforms are cut where vector registers hold `lanes` float32. Spectra must hold whole groups of so many
 * tiles, or output channels of the weights. */
SpectrumBlocks spectrum_cpu_blocks(int lanes);

/** A task transforms a group of tiles of one channel, a vector register for the same value of all of them, so that no
 * butterfly moves values between lanes. Pair of rows by pair of rows it copies the tiles' pixels, transposes them to
 * tiles innermost and transforms them along W; all lines lie in memory of the task, and a column at a time is
 * transformed along H and written. */
void schedule_spectrum_cpu(BlockedForward &spectrum, const SpectrumTile &size, const SpectrumBlocks &blocks);

/** The same the other way. Rows of tiles that are beyond step_h are not computed. */
void schedule_spectrum_cpu(BlockedInverse &spectrum, const SpectrumTile &size, const SpectrumBlocks &blocks);

} // namespace hconv
