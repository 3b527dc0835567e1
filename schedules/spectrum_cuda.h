/** CUDA schedules of the transforms. */
#pragma once

#include "generators/spectrum_algorithm.h"

namespace hconv {

/** Tiles, or output channels of the weights, that one block transforms: what it writes for each frequency is as long.
 * Spectra must hold whole groups. */
int spectrum_group(const SpectrumTile &size);

/** Blocks that must fit on one multiprocessor. */
int spectrum_min_blocks(const SpectrumTile &size);

/** A block transforms a group of one channel. It stages the tiles in shared memory, a thread transforms two rows as one
 * line in registers and puts it back, and a thread transforms a column and writes it, neighbours along n side by side.
 */
void schedule_spectrum_cuda(ForwardSpectrum &spectrum, const SpectrumTile &size);

/** The same the other way. */
void schedule_spectrum_cuda(InverseSpectrum &spectrum, const SpectrumTile &size);

} // namespace hconv
