#include "validation.h"

#include <algorithm>
#include <cinttypes>

#include "error.h"
#include "plan.h"
#include "problem.h"

namespace hconv::runtime {
namespace {

constexpr hconv_status accepted = HCONV_OK;

/// What a tensor must look like.
struct Expected {
  const char *name;   ///< the argument's name in sentences
  const char *layout; ///< "[B, IC, H, W]"
  int rank;
  int64_t shape[4];
  DLDataType dtype;
  DLDevice device;
  enum class Order { row_major, channels_last, either } order = Order::row_major;
};

hconv_status check_like(const DLTensor *t, const Expected &e) {
  if (hconv_status bad = check_descriptor(t, e.name, e.rank, e.layout))
    return bad;
  if (!same(t->dtype, e.dtype))
    return fail(HCONV_INVALID_ARGUMENT, "%s has element type %s; expected %s, as all tensors of one convolution.",
                e.name, text_of(t->dtype).c_str(), text_of(e.dtype).c_str());
  if (!same(t->device, e.device))
    return fail(HCONV_INVALID_ARGUMENT, "%s is on %s; expected %s, as all tensors of one convolution.", e.name,
                text_of(t->device).c_str(), text_of(e.device).c_str());
  for (int i = 0; i < e.rank; ++i)
    if (t->shape[i] != e.shape[i])
      return fail(HCONV_INVALID_ARGUMENT, "%s has shape %s; expected %s = %s.", e.name,
                  text_of(t->shape, e.rank).c_str(), e.layout, text_of(e.shape, e.rank).c_str());
  return accepted;
}

/// Elements of an accepted shape; check_problem has made sure that the product fits.
int64_t elements(const Expected &e) {
  int64_t count = 1;
  for (int i = 0; i < e.rank; ++i)
    count *= e.shape[i];
  return count;
}

/// Strides of a dense tensor with its dimensions in the order of `outermost_first`.
struct Strides {
  int64_t of[4];

  Strides(const int64_t *shape, int rank, const int *outermost_first) {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      of[outermost_first[i]] = stride;
      stride *= shape[outermost_first[i]];
    }
  }
  bool fit(const DLTensor &t, const int64_t *strides) const {
    for (int i = 0; i < t.ndim; ++i)
      if (t.shape[i] != 1 && strides[i] != of[i])
        return false;
    return true;
  }
};
constexpr int row_major_order[] = {0, 1, 2, 3}, channels_last_order[] = {0, 2, 3, 1};

hconv_status check_strides(const DLTensor &t, const Expected &e) {
  if (elements(e) == 0)
    return accepted;
  using Order = Expected::Order;
  const Dense found = dense_of(t);
  if ((found.row_major && e.order != Order::channels_last) || (found.channels_last && e.order != Order::row_major))
    return accepted;
  if (e.order != Order::either && (found.row_major || found.channels_last))
    return fail(HCONV_UNSUPPORTED, "%s is laid out as %s; expected %s, the layout of the problem, for both x and y.",
                e.name, found.row_major ? "NCHW (row-major)" : "NHWC (channels last)",
                found.row_major ? "NHWC (channels last)" : "NCHW (row-major)");
  if (e.order == Order::channels_last) {
    const Strides dense(e.shape, e.rank, channels_last_order);
    return fail(
        HCONV_UNSUPPORTED,
        "%s is not dense: it has strides %s; expected %s (NHWC, channels last, in elements). Pass a dense copy.",
        e.name, text_of(t.strides, e.rank).c_str(), text_of(dense.of, e.rank).c_str());
  }
  const Strides dense(e.shape, e.rank, row_major_order);
  std::string expected = text_of(dense.of, e.rank) + " (row-major, in elements)";
  if (e.order == Order::either)
    expected += " or " + text_of(Strides(e.shape, e.rank, channels_last_order).of, e.rank) + " (channels last)";
  return fail(HCONV_UNSUPPORTED, "%s is not contiguous: it has strides %s; expected %s. Pass a contiguous copy.",
              e.name, text_of(t.strides, e.rank).c_str(), expected.c_str());
}

hconv_status check_data(const DLTensor &t, const Expected &e) {
  const int64_t count = elements(e);
  if (count == 0)
    return accepted;
  if (!t.data)
    return fail(HCONV_INVALID_ARGUMENT, "%s.data is null; expected the address of %" PRId64 " elements.", e.name,
                count);
  const uintptr_t base = reinterpret_cast<uintptr_t>(t.data);
  const uintptr_t size = static_cast<uintptr_t>(element_bytes(e.dtype));
  uintptr_t start, end;
  if (__builtin_add_overflow(base, t.byte_offset, &start) ||
      __builtin_add_overflow(start, static_cast<uintptr_t>(count) * size, &end))
    return fail(HCONV_INVALID_ARGUMENT,
                "%s.byte_offset is %" PRIu64 ", so the tensor's end lies beyond the address space; expected an offset "
                "within the allocation.",
                e.name, t.byte_offset);
  if (start % size)
    return fail(HCONV_INVALID_ARGUMENT,
                "%s starts at address 0x%" PRIxPTR " (data + byte_offset); expected a multiple of %d, the bytes of %s.",
                e.name, start, static_cast<int>(size), text_of(e.dtype).c_str());
  return accepted;
}

hconv_status check_tensor(const DLTensor *t, const Expected &e) {
  if (hconv_status bad = check_like(t, e))
    return bad;
  if (hconv_status bad = check_strides(*t, e))
    return bad;
  return check_data(*t, e);
}

struct Range {
  const char *name;
  uintptr_t start, bytes;
};

hconv_status check_apart(const Range &written, const Range &other) {
  if (written.bytes == 0 || other.bytes == 0 || written.start + written.bytes <= other.start ||
      other.start + other.bytes <= written.start)
    return accepted;
  return fail(HCONV_INVALID_ARGUMENT,
              "%s overlaps %s: %s occupies 0x%" PRIxPTR " to 0x%" PRIxPTR " and %s 0x%" PRIxPTR " to 0x%" PRIxPTR
              "; expected separate memory.",
              written.name, other.name, written.name, written.start, written.start + written.bytes, other.name,
              other.start, other.start + other.bytes);
}

Range range_of(const DLTensor &t, const Expected &e) {
  return {e.name, reinterpret_cast<uintptr_t>(data_of(t)),
          static_cast<uintptr_t>(elements(e) * element_bytes(e.dtype))};
}

Expected::Order order_of(const hconv_problem &p) {
  return is_nhwc(p) ? Expected::Order::channels_last : Expected::Order::row_major;
}

Expected expected_x(const hconv_problem &p) {
  return {"x", "[B, IC, H, W]", 4, {p.batch, p.in_channels, p.height, p.width}, p.dtype, p.device, order_of(p)};
}
Expected expected_w(const hconv_problem &p) {
  return {
      "w",      "[OC, IC, KH, KW]",     4, {p.out_channels, p.in_channels, p.kernel_height, p.kernel_width}, p.dtype,
      p.device, Expected::Order::either};
}
Expected expected_bias(const hconv_problem &p) {
  return {"bias", "[OC]", 1, {p.out_channels, 0, 0, 0}, p.dtype, p.device};
}
Expected expected_y(const hconv_problem &p) {
  const Geometry g = geometry_of(p);
  return {"y",     "[B, OC, OH, OW]", 4,          {p.batch, p.out_channels, g.output_height, g.output_width},
          p.dtype, p.device,          order_of(p)};
}

hconv_status check_aligned(const char *name, const DLTensor &t, const char *what) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(data_of(t));
  if (address % 16 == 0)
    return accepted;
  return fail(HCONV_UNSUPPORTED,
              "%s starts at address 0x%" PRIxPTR
              " (data + byte_offset); expected a multiple of 16, since %s 8 channels "
              "of NHWC at once.",
              name, address, what);
}

hconv_status check_packed(const hconv_plan &plan, const void *packed) {
  if (!packed)
    return fail(HCONV_INVALID_ARGUMENT, "packed is null; expected the address of %zu bytes of packed weights.",
                plan.packed_bytes);
  if (reinterpret_cast<uintptr_t>(packed) % 16)
    return fail(HCONV_INVALID_ARGUMENT, "packed is at address %p; expected a multiple of 16.", packed);
  return accepted;
}

hconv_status check_workspace_size(const hconv_plan &plan, size_t bytes) {
  if (bytes >= plan.minimum_workspace_bytes)
    return accepted;
  if (plan.minimum_workspace_bytes == plan.workspace_bytes)
    return fail(HCONV_INVALID_ARGUMENT, "workspace_bytes is %zu; expected at least %zu (hconv_plan_workspace_bytes).",
                bytes, plan.workspace_bytes);
  return fail(
      HCONV_INVALID_ARGUMENT,
      "workspace_bytes is %zu; expected at least %zu (hconv_plan_minimum_workspace_bytes), and %zu for the full "
      "speed (hconv_plan_workspace_bytes).",
      bytes, plan.minimum_workspace_bytes, plan.workspace_bytes);
}
} // namespace

hconv_status check_descriptor(const DLTensor *t, const char *name, int rank, const char *layout) {
  if (!t)
    return fail(HCONV_INVALID_ARGUMENT, "%s is null; expected a DLTensor of shape %s.", name, layout);
  if (t->ndim != rank)
    return fail(HCONV_INVALID_ARGUMENT, "%s has %d dimensions; expected %d: %s.", name, t->ndim, rank, layout);
  if (!t->shape)
    return fail(HCONV_INVALID_ARGUMENT, "%s.shape is null; expected %d extents: %s.", name, rank, layout);
  return accepted;
}

Dense dense_of(const DLTensor &t) {
  const Strides row_major(t.shape, t.ndim, row_major_order);
  const int64_t *strides = t.strides ? t.strides : row_major.of;
  return {row_major.fit(t, strides), t.ndim == 4 && Strides(t.shape, 4, channels_last_order).fit(t, strides)};
}

hconv_status check_alignment(const hconv_plan &plan, const DLTensor &x, const DLTensor &y) {
  if (plan.variant->layout != HCONV_LAYOUT_NHWC || plan.conversion.bytes()) // x and y are the workspace's then
    return accepted;
  if (!plan.pack_input)
    if (hconv_status bad = check_aligned("x", x, "the plan's kernel reads"))
      return bad;
  return check_aligned("y", y, "the plan's kernel writes");
}

hconv_status check_tensors(const hconv_problem &p, const DLTensor *x, const DLTensor *w, const DLTensor *bias,
                           const DLTensor *y) {
  const Expected ex = expected_x(p), ew = expected_w(p), eb = expected_bias(p), ey = expected_y(p);
  if (hconv_status bad = check_tensor(x, ex))
    return bad;
  if (w)
    if (hconv_status bad = check_tensor(w, ew))
      return bad;
  if (bias)
    if (hconv_status bad = check_tensor(bias, eb))
      return bad;
  if (hconv_status bad = check_tensor(y, ey))
    return bad;
  const Range ry = range_of(*y, ey);
  if (hconv_status bad = check_apart(ry, range_of(*x, ex)))
    return bad;
  if (w)
    if (hconv_status bad = check_apart(ry, range_of(*w, ew)))
      return bad;
  return bias ? check_apart(ry, range_of(*bias, eb)) : accepted;
}

hconv_status check_pack(const hconv_plan &plan, const DLTensor *w, const void *packed, size_t packed_bytes) {
  const Expected e = expected_w(plan.problem);
  if (hconv_status bad = check_tensor(w, e))
    return bad;
  if (hconv_status bad = check_packed(plan, packed))
    return bad;
  if (packed_bytes < plan.packed_bytes)
    return fail(HCONV_INVALID_ARGUMENT, "packed_bytes is %zu; expected at least %zu (hconv_plan_packed_bytes).",
                packed_bytes, plan.packed_bytes);
  return check_apart({"packed", reinterpret_cast<uintptr_t>(packed), plan.packed_bytes}, range_of(*w, e));
}

hconv_status check_run(const hconv_plan &plan, const DLTensor *x, const void *packed, const DLTensor *bias,
                       const DLTensor *y, const void *workspace, size_t workspace_bytes) {
  if (hconv_status bad = check_tensors(plan.problem, x, nullptr, bias, y))
    return bad;
  if (plan.problem.batch == 0)
    return accepted;
  if (hconv_status bad = check_alignment(plan, *x, *y))
    return bad;
  if (hconv_status bad = check_packed(plan, packed))
    return bad;
  if (hconv_status bad = check_workspace_size(plan, workspace_bytes))
    return bad;
  const size_t used = std::min(workspace_bytes, plan.workspace_bytes);
  if (used && !workspace)
    return fail(HCONV_INVALID_ARGUMENT, "workspace is null; expected the address of %zu bytes.", used);
  if (used && reinterpret_cast<uintptr_t>(workspace) % 16)
    return fail(HCONV_INVALID_ARGUMENT, "workspace is at address %p; expected a multiple of 16.", workspace);
  const Range ry = range_of(*y, expected_y(plan.problem));
  const Range rp{"packed", reinterpret_cast<uintptr_t>(packed), plan.packed_bytes};
  const Range rw{"workspace", reinterpret_cast<uintptr_t>(workspace), used};
  if (hconv_status bad = check_apart(ry, rp))
    return bad;
  if (hconv_status bad = check_apart(ry, rw))
    return bad;
  if (hconv_status bad = check_apart(rw, rp))
    return bad;
  if (hconv_status bad = check_apart(rw, range_of(*x, expected_x(plan.problem))))
    return bad;
  return bias ? check_apart(rw, range_of(*bias, expected_bias(plan.problem))) : accepted;
}

} // namespace hconv::runtime
