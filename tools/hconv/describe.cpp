#include "arguments.h"
#include "commands.h"
#include "failure.h"

namespace hconv::cli {

namespace {

/** Prints a text of the library in the format that was asked for. */
void print_library_text(const Output &output, const std::string &doing,
                        const std::function<hconv_status(hconv_format format, char *text, size_t *size)> &fill) {
  const hconv_format format = output.json ? HCONV_JSON : HCONV_TEXT;
  std::string text = text_of([&](char *to, size_t *size) { return fill(format, to, size); }, doing);
  if (output.json) {
    try {
      output.document(Json::parse(text));
    } catch (const Json::parse_error &error) {
      throw Failure(EXIT_DEVICE, doing + ": the library's JSON is broken: " + error.what());
    }
    return;
  }
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  output.line(text);
}

Json device_entry(DLDevice device) {
  return {{"device", device_token(device)}, {"name", device_name(device)}};
}

} // namespace

void run_explain(const ExplainOptions &options, const Output &output) {
  const Shape shape = parse_shape(options.shape, "SHAPE");
  const hconv_padding padding =
      shape.padding.value_or(parse_padding(options.problem.padding, shape.kernel_height, shape.kernel_width));
  const hconv_problem problem =
      make_problem(shape, padding, parse_type(options.problem.type.empty() ? "f32" : options.problem.type),
                   parse_math(options.problem.math), select_device(options.problem.device, false),
                   parse_layout(options.problem.layout));
  print_library_text(output, "explaining " + options.shape, [&](hconv_format format, char *text, size_t *size) {
    return hconv_explain(&problem, format, text, size);
  });
}

void run_list(const Output &output) {
  print_library_text(output, "listing the variants", hconv_list);
}

void run_devices(const Output &output) {
  Json devices = Json::array();
  const int cuda_devices = hconv_cuda_device_count();
  for (int ordinal = 0; ordinal < cuda_devices; ++ordinal) {
    devices.push_back(device_entry(DLDevice{kDLCUDA, ordinal}));
  }
  devices.push_back(device_entry(DLDevice{kDLCPU, 0}));
  const std::string chosen = device_token(select_device("", false));
  for (const Json &entry : devices) {
    const std::string device = entry["device"];
    output.line(device + "\t" + entry["name"].get<std::string>() + (device == chosen ? "\t(default)" : ""));
  }
  if (cuda_devices == 0) {
    output.note("no CUDA driver or no CUDA device was found; the CPU serves.");
  }
  output.document({{"default", chosen}, {"devices", devices}});
}

void run_version(const Output &output) {
  output.line(std::string("hconv ") + hconv_version());
  output.document({{"name", "hconv"}, {"version", hconv_version()}});
}

} // namespace hconv::cli
