#include "device.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace hconv_test {

namespace {

const size_t guard_bytes = 1024;
const uint8_t guard_value = 0xff;
const DLDevice host = {kDLCPU, 0};

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

Failure::Failure(const std::string &call, hconv_status status)
    : std::runtime_error(call + " returned '" + hconv_status_text(status) + "': " + hconv_last_error()) {}

void check(hconv_status status, const std::string &call) {
  if (status != HCONV_OK)
    throw Failure(call, status);
}

DLDevice test_device() {
  const std::string name = environment("HCONV_TEST_DEVICE");
  if (name.empty() || name == "cpu")
    return {kDLCPU, 0};
  if (name == "cuda")
    return {kDLCUDA, 0};
  throw std::invalid_argument("HCONV_TEST_DEVICE is '" + name + "', expected cpu or cuda");
}

bool emulated() {
  return test_device().device_type == kDLCUDA && !environment("HCONV_CUDA_DRIVER").empty();
}

bool full_run() {
  const std::string value = environment("HCONV_TEST_FULL");
  return !value.empty() && value != "0";
}

GuardedBuffer::GuardedBuffer(size_t bytes, size_t alignment, size_t offset) : device_(test_device()), bytes_(bytes) {
  const size_t before = round_up(guard_bytes, 256) + offset;
  if (device_.device_type == kDLCPU) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    mapped_ = round_up(before + bytes + alignment, page) + page;
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED)
      throw std::runtime_error("mmap of " + std::to_string(mapped_) + " bytes failed");
    base_ = static_cast<uint8_t *>(mapping_);
    watched_ = mapped_ - page;
    if (mprotect(base_ + watched_, page, PROT_NONE))
      throw std::runtime_error("mprotect of a guard page failed");
    data_ = base_ + (watched_ - bytes - offset) / alignment * alignment + offset;
    std::memset(base_, guard_value, watched_);
  } else {
    watched_ = before + bytes + guard_bytes;
    check(hconv_malloc(device_, watched_, &mapping_), "hconv_malloc");
    base_ = static_cast<uint8_t *>(mapping_);
    data_ = base_ + before;
    const std::vector<uint8_t> fill(watched_, guard_value);
    check(hconv_copy(base_, device_, fill.data(), host, watched_, nullptr), "hconv_copy");
  }
}

GuardedBuffer::~GuardedBuffer() {
  if (device_.device_type == kDLCPU)
    munmap(mapping_, mapped_);
  else
    hconv_free(device_, mapping_);
}

void GuardedBuffer::upload(const void *from, size_t bytes) {
  if (bytes > bytes_)
    throw std::logic_error("upload of more bytes than the buffer holds");
  if (bytes)
    check(hconv_copy(data_, device_, from, host, bytes, nullptr), "hconv_copy");
}

std::vector<uint8_t> GuardedBuffer::whole() const {
  std::vector<uint8_t> copy(watched_);
  check(hconv_copy(copy.data(), host, base_, device_, watched_, nullptr), "hconv_copy");
  return copy;
}

std::vector<uint8_t> GuardedBuffer::download() const {
  std::vector<uint8_t> copy(bytes_);
  if (bytes_)
    check(hconv_copy(copy.data(), host, data_, device_, bytes_, nullptr), "hconv_copy");
  return copy;
}

void GuardedBuffer::poison() {
  const std::vector<uint8_t> fill(bytes_, guard_value);
  upload(fill.data(), bytes_);
}

std::string GuardedBuffer::damage() const {
  const std::vector<uint8_t> bytes = whole();
  const size_t first = size_t(data_ - base_);
  for (size_t i = 0; i < bytes.size(); i++)
    if ((i < first || i >= first + bytes_) && bytes[i] != guard_value)
      return "byte " + std::to_string(int64_t(i) - int64_t(first)) + " of a buffer of " + std::to_string(bytes_) +
             " bytes was written";
  return "";
}

} // namespace hconv_test
