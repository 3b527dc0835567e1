#include <nlohmann/json.hpp>

#include "describe.h"
#include "describe_tuned.h"
#include "describe_variant.h"
#include "error.h"
#include "plan.h"
#include "validation.h"

namespace hconv::runtime {
namespace {

using Json = nlohmann::ordered_json;

struct Explanation {
  hconv_problem problem;
  Geometry geometry;
  Machine machine;
  Choice choice;
  int64_t packed;
  Workspace workspace;   ///< conversion included
  Conversion conversion; ///< between the layouts of the tensors and of the variant
  ThreadPool pool;       ///< only on the CPU
  CpuTasks tasks;        ///< only of a direct CPU variant; of others the count is 0
  std::string device;    ///< the device's name, or why it is not there
  bool present;
};

struct Bytes {
  int64_t x, w, bias, y;
};
Bytes bytes_of(const Explanation &e) {
  const hconv_problem &p = e.problem;
  const int64_t size = e.geometry.element_bytes;
  return {p.batch * e.geometry.x_image * size, p.out_channels * e.geometry.products * size, p.out_channels * size,
          p.batch * e.geometry.y_image * size};
}

int64_t images_per_launch(const Explanation &e) {
  return launch_batch(e.geometry, packed_input(e.problem, *e.choice.variant), e.choice.parts);
}

Json json_of(const Variant &v) {
  return {{"name", v.name},
          {"algorithm", name_of(v.algorithm)},
          {"type", name_of(v.type)},
          {"target", name_of(v.target)},
          {"parameters", parameters_of(v)}};
}

/// Whether a cost is a sum of phases: of the transform, or of packing x, products, stores of y and launches. Those of a
/// split variant have the parts in the place of y.
bool has_phases(const Variant &v) {
  return v.algorithm == Algorithm::transform || v.split || sum_speed_of(v);
}

/// What the output of a variant's phases is.
const char *output_of(const Variant &v) {
  return v.split ? "parts" : "output";
}

Json json_of(const Variant &v, const Cost &cost) {
  Json j = {{"variant", v.name},   {"value", cost.value}, {"blocks", cost.blocks},
            {"waves", cost.waves}, {"speed", cost.speed}, {"conversion", cost.conversion}};
  if (has_phases(v))
    j["phases"] = {
        {"input", cost.input}, {"product", cost.product}, {output_of(v), cost.output}, {"launches", cost.launches}};
  return j;
}

std::string plain_of(const Variant &v, const Cost &cost) {
  std::string t = text("%.6g (%lld blocks in %lld waves, speed %.3g)", cost.value, static_cast<long long>(cost.blocks),
                       static_cast<long long>(cost.waves), cost.speed);
  if (has_phases(v))
    t += text(" = input %.4g + product %.4g + %s %.4g + launches %.4g", cost.input, cost.product, output_of(v),
              cost.output, cost.launches);
  if (cost.conversion > 0)
    t += text(", of which conversion %.4g", cost.conversion);
  return t;
}

/// Of a float32 result, relative to the sum of absolute products, of transform to the product of norms.
double error_bound(const Explanation &e) {
  const Variant &v = *e.choice.variant;
  return v.algorithm == Algorithm::transform ? transform_error(e.problem, v, *e.choice.product).relative
                                             : sum_error(v.algorithm, e.geometry.products).relative;
}

/// How a transform variant cuts the problem up.
struct Tiles {
  TransformLayout layout;
  int64_t all, chunk, chunks; ///< chunks with the full workspace, of one launch's images
};
Tiles tiles_of(const Explanation &e) {
  Tiles t{transform_layout(e.problem, *e.choice.variant, *e.choice.product), 0, 0, 0};
  t.all = launch_tiles(e.problem, t.layout);
  t.chunk = full_chunk(e.problem, t.layout);
  t.chunks = (t.all + t.chunk - 1) / t.chunk;
  return t;
}

Json json_of(const Tiles &t) {
  return {{"tile", {t.layout.fft_h, t.layout.fft_w}},
          {"step", {t.layout.step_h, t.layout.step_w}},
          {"tiles_of_an_image", {t.layout.tiles_h, t.layout.tiles_w}},
          {"frequencies", t.layout.frequencies},
          {"tiles", t.all},
          {"tiles_of_a_chunk", t.chunk},
          {"chunks", t.chunks}};
}

Json json_of(const CpuTasks &t, const ThreadPool &pool) {
  return {{"count", t.count},
          {"rows", t.rows},
          {"columns", t.width},
          {"out_channels", t.channels},
          {"images", t.images},
          {"threads", t.threads},
          {"threads_of_the_pool", pool.threads},
          {"pool", pool.own() ? "hconv" : "caller"},
          {"scratch_bytes_of_a_thread", t.task_bytes},
          {"in_channels_of_a_sum", t.block_ic}};
}

std::string plain_of(const CpuTasks &t, const ThreadPool &pool) {
  return text("tasks        %lld of up to %d rows of %lld, %d OC, %d images, with sums over %d IC\n", wide(t.count),
              t.rows, wide(t.width), t.channels, t.images, t.block_ic) +
         text("threads      %d of %d of %s pool, %lld bytes of scratch memory each\n", t.threads, pool.threads,
              pool.own() ? "hconv's" : "the caller's", wide(t.task_bytes));
}

std::string plain_of(const Variant &v) {
  if (v.algorithm == Algorithm::transform)
    return text("tile %d x %d", v.fft_h, v.fft_w);
  return text("tile OC %d, OW %d, OH %d; %s OC %d, OW %d; IC step %d, KW %s; stages %d, warps %d", v.tile_oc, v.tile_ow,
              std::max(v.tile_oh, 1), on_tensor_cores(v.algorithm) ? "warp" : "thread", v.thread_oc, v.thread_ow, v.ic,
              v.kw ? text("%d n", v.kw).c_str() : "any", v.stages, v.warps);
}

std::string plain_of(const Tiles &t, const Variant &product) {
  return text("transform    tiles of %lld x %lld for %lld x %lld outputs, %lld x %lld an image; %lld frequencies\n",
              wide(t.layout.fft_h), wide(t.layout.fft_w), wide(t.layout.step_h), wide(t.layout.step_w),
              wide(t.layout.tiles_h), wide(t.layout.tiles_w), wide(t.layout.frequencies)) +
         text("chunks       %lld of up to %lld tiles, for %lld tiles\n", wide(t.chunks), wide(t.chunk), wide(t.all)) +
         text("product      %s\n", product.name);
}

std::string json_of(const Explanation &e) {
  const hconv_problem &p = e.problem;
  const Variant &v = *e.choice.variant;
  const Bytes bytes = bytes_of(e);
  Json j;
  j["problem"] = {
      {"dtype", text_of(p.dtype)},
      {"device", text_of(p.device)},
      {"math", text_of(p.math)},
      {"layout", text_of(p.layout)},
      {"batch", p.batch},
      {"in_channels", p.in_channels},
      {"height", p.height},
      {"width", p.width},
      {"out_channels", p.out_channels},
      {"kernel_height", p.kernel_height},
      {"kernel_width", p.kernel_width},
      {"padding",
       {{"top", p.padding.top}, {"bottom", p.padding.bottom}, {"left", p.padding.left}, {"right", p.padding.right}}},
      {"output_height", e.geometry.output_height},
      {"output_width", e.geometry.output_width}};
  j["device"] = {{"name", e.device}, {"present", e.present}};
  j["flops"] = e.geometry.flops;
  j["bytes"] = {{"x", bytes.x}, {"w", bytes.w}, {"bias", bytes.bias}, {"y", bytes.y}};
  j["packed_bytes"] = e.packed;
  j["workspace_bytes"] = e.workspace.full;
  j["minimum_workspace_bytes"] = e.workspace.minimum;
  j["conversion"] = e.conversion.bytes() ? Json{{"from", is_nhwc(p) ? "nhwc" : "nchw"},
                                                {"to", is_nhwc(p) ? "nchw" : "nhwc"},
                                                {"x_bytes", e.conversion.x},
                                                {"y_bytes", e.conversion.y},
                                                {"kernel", e.choice.transpose->name}}
                                         : Json();
  if (e.tasks.count)
    j["tasks"] = json_of(e.tasks, e.pool);
  j["images_per_launch"] = images_per_launch(e);
  j["variant"] = json_of(v);
  if (e.choice.product) {
    j["product"] = json_of(*e.choice.product);
    j["transform"] = json_of(tiles_of(e));
  }
  if (e.choice.parts)
    j["split"] = json_of_parts(p, e.choice, e.machine);
  j["source"] = e.choice.source;
  j["tuned"] = json_of(e.choice.tuned);
  if (is_cuda(v.target)) {
    j["cost"] = json_of(v, e.choice.cost);
    j["runner_up"] = e.choice.runner_up ? json_of(*e.choice.runner_up, e.choice.runner_up_cost) : Json();
  }
  const bool transform = v.algorithm == Algorithm::transform;
  j["error_bound"] = {{"relative_to_sum_of_absolute_products", transform ? Json() : Json(error_bound(e))},
                      {"relative_to_norms_of_tile_and_filter", transform ? Json(error_bound(e)) : Json()},
                      {"rounding_relative_to_result", p.dtype.bits == 32 ? 0.0 : unit_roundoff(p.dtype)}};
  j["declined"] = Json::array();
  for (const Declined &d : e.choice.declined)
    j["declined"].push_back({{"variant", d.variant->name}, {"reason", d.reason}});
  return j.dump(2) + "\n";
}

std::string plain_of(const Explanation &e) {
  const hconv_problem &p = e.problem;
  const Variant &v = *e.choice.variant;
  const Bytes bytes = bytes_of(e);
  std::string t;
  t += text("problem      %s\n", text_of(p).c_str());
  t += text("output       %lld x %lld x %lld x %lld (B, OC, OH, OW)\n", wide(p.batch), wide(p.out_channels),
            wide(e.geometry.output_height), wide(e.geometry.output_width));
  t += text("device       %s%s\n", e.present ? "" : "not present: ", e.device.c_str());
  t += text("work         %.4g GFLOP, %lld products in each sum\n", e.geometry.flops * 1e-9, wide(e.geometry.products));
  t += text("bytes        x %lld, w %lld, y %lld\n", wide(bytes.x), wide(bytes.w), wide(bytes.y));
  t += text("memory       %lld bytes of packed weights, %lld bytes of workspace", wide(e.packed),
            wide(e.workspace.full));
  t += e.workspace.minimum == e.workspace.full ? "\n" : text(", at least %lld\n", wide(e.workspace.minimum));
  if (e.conversion.bytes())
    t += text("conversion   between %s and the variant's %s, in the workspace: x %lld bytes, y %lld bytes\n",
              is_nhwc(p) ? "NHWC" : "NCHW", is_nhwc(p) ? "NCHW" : "NHWC", wide(e.conversion.x), wide(e.conversion.y));
  if (e.tasks.count)
    t += plain_of(e.tasks, e.pool);
  t += text("launches     up to %lld images each\n", wide(images_per_launch(e)));
  t += text("variant      %s\n", v.name);
  t += text("parameters   %s\n", plain_of(v).c_str());
  if (e.choice.product)
    t += plain_of(tiles_of(e), *e.choice.product);
  if (e.choice.parts)
    t += plain_of_parts(p, e.choice, e.machine);
  t += text("chosen by    %s\n", e.choice.source.c_str());
  t += plain_of(e.choice.tuned);
  if (is_cuda(v.target)) {
    t += text("cost         %s\n", plain_of(v, e.choice.cost).c_str());
    if (const Variant *next = e.choice.runner_up)
      t += text("runner-up    %s: %s\n", next->name, plain_of(*next, e.choice.runner_up_cost).c_str());
  }
  t += text("error bound  |y - exact| <= %.3g * (%s + |bias|)", error_bound(e),
            v.algorithm == Algorithm::transform ? "|tile of x| * |filter|, 2-norms," : "sum of |x*w|");
  if (p.dtype.bits != 32)
    t += text(" + %.3g * |y|, the rounding to %s", unit_roundoff(p.dtype), text_of(p.dtype).c_str());
  t += "\ndeclined\n";
  for (const Declined &d : e.choice.declined)
    t += text("  %s: %s\n", d.variant->name, d.reason.c_str());
  return t;
}

hconv_status explain(const hconv_problem *problem, hconv_format format, char *text, size_t *size) {
  if (!problem)
    return fail(HCONV_INVALID_ARGUMENT, "problem is null; expected the address of an hconv_problem.");
  if (hconv_status bad = check_format(format))
    return bad;
  if (hconv_status bad = check_problem(problem))
    return bad;
  Explanation e;
  e.problem = *problem;
  e.geometry = geometry_of(*problem);
  if (raw(problem->device.device_type) == kDLCPU)
    if (hconv_status bad = choose_pool(nullptr, &e.pool))
      return bad;
  e.machine = machine_of(problem->device, e.pool.threads);
  if (hconv_status bad = choose(*problem, e.machine, environment(), &e.choice))
    return bad;
  e.packed = packed_bytes(*problem, *e.choice.variant, e.choice.product);
  e.workspace = workspace_of(*problem, *e.choice.variant, e.choice.product, e.choice.parts);
  if (!is_cuda(e.choice.variant->target) && e.choice.variant->algorithm == Algorithm::direct) {
    e.tasks = cpu_tasks(*problem, *e.choice.variant, e.pool.threads);
    e.workspace = workspace_of(e.tasks);
  }
  e.conversion = conversion_of(*problem, *e.choice.variant);
  e.workspace.full += e.conversion.bytes();
  e.workspace.minimum += e.conversion.bytes();
  // The choice itself needs no device, so a machine without one can still explain.
  e.present = device_name(problem->device, &e.device) == HCONV_OK;
  if (!e.present)
    e.device = last_error();
  return deliver(raw(format) == HCONV_JSON ? json_of(e) : plain_of(e), text, size);
}

} // namespace

hconv_status check_format(hconv_format format) {
  if (raw(format) == HCONV_TEXT || raw(format) == HCONV_JSON)
    return HCONV_OK;
  return fail(HCONV_INVALID_ARGUMENT, "format is %d; expected HCONV_TEXT or HCONV_JSON.", raw(format));
}

hconv_status deliver(const std::string &content, char *text, size_t *size) {
  if (!size)
    return fail(HCONV_INVALID_ARGUMENT, "size is null; expected the address of the capacity of text.");
  const size_t capacity = *size, needed = content.size() + 1;
  *size = needed;
  if (capacity && !text)
    return fail(HCONV_INVALID_ARGUMENT, "text is null, but *size is %zu; expected a buffer of that capacity, or 0.",
                capacity);
  if (capacity) {
    const size_t copied = std::min(capacity - 1, content.size());
    std::memcpy(text, content.data(), copied);
    text[copied] = '\0';
  }
  if (capacity >= needed)
    return HCONV_OK;
  return fail(HCONV_INVALID_ARGUMENT, "*size is %zu; expected at least %zu bytes for the whole text.", capacity,
              needed);
}

} // namespace hconv::runtime

extern "C" hconv_status hconv_explain(const hconv_problem *problem, hconv_format format, char *text, size_t *size) {
  return hconv::runtime::guarded([&] { return hconv::runtime::explain(problem, format, text, size); });
}
