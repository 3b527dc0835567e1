// The threads of the CPU variants: Halide's pool, its size, and when it is left asleep.
#pragma once

namespace hconv::runtime {

/// Threads that share a CPU variant's work, the calling one among them: HCONV_NUM_THREADS, else one for each processor
/// that this process may run on.
int wanted_threads();

/// The same; tells Halide's pool when it has changed. Callers share one pool: however many threads call at once, it has
/// one thread less than this.
int cpu_threads();

} // namespace hconv::runtime
