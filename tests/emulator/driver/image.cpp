#include "image.h"

#include <cstdint>
#include <cstring>

namespace hconv::emulator {
namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50u;
constexpr uint32_t kWrapperMagic = 0x466243b1u; // what nvcc puts around a fatbin in a host object

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes; ///< behind the header
};

/// The leading fields of an entry; more follow, up to header_bytes.
struct EntryHeader {
  uint16_t kind; ///< 1 PTX, 2 machine code
  uint16_t version;
  uint32_t header_bytes;
  uint64_t bytes; ///< behind the header
  uint32_t unused[3];
  uint32_t architecture; ///< such as 90
  uint32_t more[2];
  uint64_t flags;
};
static_assert(sizeof(EntryHeader) == 48, "fields of the file format");

constexpr uint64_t kSpecificArchitecture = 1u << 20; // the a of sm_90a

struct Wrapper {
  uint32_t magic, version;
  const void *fatbin;
};

bool runs_on(const EntryHeader &entry, int major, int minor) {
  const auto device = static_cast<uint32_t>(10 * major + minor);
  if (entry.flags & kSpecificArchitecture)
    return entry.architecture == device;
  if (entry.kind == 1)
    return entry.architecture <= device;
  return entry.kind == 2 && entry.architecture / 10 == device / 10 && entry.architecture <= device;
}

CUresult check_fatbin(const unsigned char *image, int major, int minor) {
  FatbinHeader header;
  std::memcpy(&header, image, sizeof header);
  if (header.version != 1 || header.header_bytes < sizeof header || header.bytes < sizeof(EntryHeader))
    return CUDA_ERROR_INVALID_IMAGE;
  const unsigned char *const entries = image + header.header_bytes;
  for (uint64_t at = 0; at < header.bytes;) {
    EntryHeader entry;
    if (header.bytes - at < sizeof entry)
      return CUDA_ERROR_INVALID_IMAGE;
    std::memcpy(&entry, entries + at, sizeof entry);
    const uint64_t room = header.bytes - at;
    if (entry.header_bytes < sizeof entry || entry.header_bytes > room || entry.bytes > room - entry.header_bytes)
      return CUDA_ERROR_INVALID_IMAGE;
    if (runs_on(entry, major, minor))
      return CUDA_SUCCESS;
    at += entry.header_bytes + entry.bytes;
  }
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

} // namespace

CUresult check_image(const void *image, int major, int minor) {
  const auto *bytes = static_cast<const unsigned char *>(image);
  uint32_t magic;
  std::memcpy(&magic, bytes, sizeof magic);
  if (magic == kWrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, bytes, sizeof wrapper);
    if (!wrapper.fatbin)
      return CUDA_ERROR_INVALID_IMAGE;
    bytes = static_cast<const unsigned char *>(wrapper.fatbin);
    std::memcpy(&magic, bytes, sizeof magic);
  }
  if (magic == kFatbinMagic)
    return check_fatbin(bytes, major, minor);
  if (std::memcmp(bytes, "\177ELF", 4) == 0)
    return CUDA_SUCCESS;
  // PTX is text up to a zero byte and names its version before anything else but comments.
  return std::strstr(static_cast<const char *>(image), ".version") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

} // namespace hconv::emulator
