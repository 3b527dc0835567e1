/** Test hooks of the emulated CUDA driver (libhconv_emulated_cuda.so), exported next to its cu* functions.
 *
 * Function names are given as the driver exports them; a trailing _v2 may be left out. All hooks may be called from any
 * thread. */
#ifndef HCONV_EMULATOR_H
#define HCONV_EMULATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the last accepted launch asked for. */
typedef struct hconv_emulator_launch {
  const char *kernel; /**< lives as long as the library */
  void *stream;       /**< the CUstream as the caller gave it; null is the default stream */
  int device;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
} hconv_emulator_launch;

/** After `skip` more calls of `function` that behave as usual, let one call return `error` (a CUresult) and do nothing
 * else. Several failures may be pending for one function; each counts the calls made since it was asked for. */
void hconv_emulator_fail_next(const char *function, int error, int skip);

/** Calls of `function` since the last reset, failed ones included; with null, of all functions together. */
long hconv_emulator_call_count(const char *function);

/** Forgets counts, pending failures, the last message, the last launch, capture states and errors that stuck to a
 * context, and reads the HCONV_EMULATOR_* environment again. Contexts, memory, modules and streams stay. */
void hconv_emulator_reset(void);

/** Device allocations not yet freed, on all devices. */
size_t hconv_emulator_live_allocations(void);

/** Copies the newest failure text (cut to `capacity`, always terminated) and returns its whole length, 0 if none. */
size_t hconv_emulator_last_message(char *text, size_t capacity);

/** Fills `launch` and returns 1, or returns 0 when nothing was launched since the last reset. */
int hconv_emulator_last_launch(hconv_emulator_launch *launch);

/** Lets cuStreamIsCapturing answer `status` (a CUstreamCaptureStatus) for this stream. Nothing is captured. */
void hconv_emulator_set_capture_status(void *stream, int status);

#ifdef __cplusplus
}
#endif

#endif
