/** Where the tests run, and memory there whose surroundings are watched. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <hconv/hconv.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace hconv_test {

/** A call into hconv that should have succeeded and did not. */
struct Failure : std::runtime_error {
  Failure(const std::string &call, hconv_status status);
};

/** Throws Failure unless status is HCONV_OK. */
void check(hconv_status status, const std::string &call);

/** $HCONV_TEST_DEVICE: "cpu" (also when unset) or "cuda". Throws std::invalid_argument for anything else. */
DLDevice test_device();
/** Whether CUDA kernels run in the emulator, hundreds of times slower than on a GPU. */
bool emulated();
/** Whether $HCONV_TEST_FULL asks for the full cross products. */
bool full_run();

/** Device memory filled with 0xff bytes, a NaN in every type, that notices writes beside it.
 *
 * The bytes on both sides hold the same NaN, so a value read there and used shows in the result. On the CPU a page
 * without access follows the last byte (rounded up to `alignment`), so that any read beyond it faults. */
class GuardedBuffer {
public:
  /** data() is `offset` bytes after a multiple of `alignment` (at most 256), and holds `bytes` bytes. */
  GuardedBuffer(size_t bytes, size_t alignment, size_t offset = 0);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  void *data() const { return data_; }
  size_t size() const { return bytes_; }
  void upload(const void *from, size_t bytes);
  std::vector<uint8_t> download() const;
  /** The content back to NaN. */
  void poison();
  /** Sentence naming the first damaged byte beside the buffer, or "" while all are intact. */
  std::string damage() const;

private:
  std::vector<uint8_t> whole() const;

  DLDevice device_;
  size_t bytes_;
  uint8_t *base_ = nullptr; // first watched byte
  size_t watched_ = 0;      // bytes from base_ on, the buffer among them
  uint8_t *data_ = nullptr;
  void *mapping_ = nullptr; // what to free
  size_t mapped_ = 0;
};

} // namespace hconv_test
