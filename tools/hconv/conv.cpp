#include "arguments.h"
#include "commands.h"
#include "device.h"
#include "elements.h"
#include "failure.h"
#include "npy.h"
#include "stopwatch.h"

#include <filesystem>

namespace hconv::cli {

namespace {

std::string sentence(const std::string &name, const NpyArray &array, const std::string &expected) {
  return name + ": has shape " + shape_text(array.shape) + "; expected " + expected + ".";
}

/** The files as read. */
struct Arrays {
  std::string input_name, weights_name, bias_name;
  NpyArray input, weights, bias;
  bool has_bias, has_batch; ///< has_batch: the input is 4-dimensional, so the output is
};

Arrays read_arrays(const ConvOptions &options) {
  Arrays arrays;
  arrays.input_name = "--input " + options.input;
  arrays.weights_name = "--weights " + options.weights;
  arrays.bias_name = "--bias " + options.bias;
  arrays.has_bias = !options.bias.empty();
  arrays.input = read_npy_file(options.input, "--input");
  arrays.weights = read_npy_file(options.weights, "--weights");
  if (arrays.has_bias) {
    arrays.bias = read_npy_file(options.bias, "--bias");
  }
  arrays.has_batch = arrays.input.shape.size() == 4;
  return arrays;
}

/** Checks ranks and channels against each other and gives the shape. Kernel and image sizes are the library's to check.
 */
Shape shape_of(Arrays &arrays) {
  const std::vector<int64_t> &x = arrays.input.shape, &w = arrays.weights.shape, &bias = arrays.bias.shape;
  if (x.size() != 3 && x.size() != 4) {
    throw Failure(EXIT_USAGE, sentence(arrays.input_name, arrays.input, "(B, C, H, W), or (C, H, W) for one image"));
  }
  if (w.size() != 4) {
    throw Failure(EXIT_USAGE, sentence(arrays.weights_name, arrays.weights, "(C_out, C_in, KH, KW)"));
  }
  const int64_t channels = x[x.size() - 3];
  if (w[1] != channels) {
    throw Failure(EXIT_USAGE, sentence(arrays.weights_name, arrays.weights,
                                       "C_in of " + std::to_string(channels) + ", the channels of " +
                                           arrays.input_name + " of shape " + shape_text(x)));
  }
  if (arrays.has_bias && (bias.size() != 1 || bias[0] != w[0])) {
    throw Failure(EXIT_USAGE, sentence(arrays.bias_name, arrays.bias,
                                       "(" + std::to_string(w[0]) + ",), one number for each output channel of " +
                                           arrays.weights_name));
  }
  return Shape{arrays.has_batch ? x[0] : 1, channels, x[x.size() - 2], x[x.size() - 1], w[2], w[3], w[0], std::nullopt};
}

void check_output_path(const std::string &path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw Failure(EXIT_USAGE, "--output " + path + ": the folder " + folder.string() +
                                  " does not exist; expected a path in an existing folder.");
  }
}

Json file_entry(const std::string &path, const std::string &descr, const std::vector<int64_t> &shape) {
  return {{"file", path}, {"shape", shape}, {"element_type", descr}};
}

} // namespace

void run_conv(const ConvOptions &options, const Output &output) {
  check_output_path(options.output);
  Arrays arrays = read_arrays(options);
  const Shape shape = shape_of(arrays);
  const hconv_padding pad = parse_padding(options.problem.padding, shape.kernel_height, shape.kernel_width);
  const Type type =
      options.problem.type.empty() ? default_type(arrays.input, arrays.input_name) : parse_type(options.problem.type);
  const hconv_math math = parse_math(options.problem.math);
  const DLDevice device = select_device(options.problem.device);

  std::vector<std::string> notes;
  const std::string doing = "convolving " + arrays.input_name + " of shape " + shape_text(arrays.input.shape) +
                            " with " + arrays.weights_name + " of shape " + shape_text(arrays.weights.shape);
  Convolution convolution(make_problem(shape, pad, type, math, device), type, arrays.has_bias, doing);
  convolution.set_input(convert(arrays.input, type, arrays.input_name, notes).data());
  convolution.set_weights(convert(arrays.weights, type, arrays.weights_name, notes).data());
  if (arrays.has_bias) {
    convolution.set_bias(convert(arrays.bias, type, arrays.bias_name, notes).data());
  }
  const double time = median(Stopwatch(device, false).sorted_milliseconds(convolution, options.repeat));

  std::string descr;
  const std::vector<unsigned char> y = to_npy_elements(convolution.output(), type, descr);
  std::vector<int64_t> y_shape = convolution.output_shape();
  const double work = operations(shape, y_shape.data());
  if (!arrays.has_batch) {
    y_shape.erase(y_shape.begin());
  }
  write_npy_file(options.output, "--output", descr, y_shape, y.data(), y.size());

  for (const std::string &note : notes) {
    output.note(note);
  }
  const double gflops = work / time * 1e-6;
  const std::string sides = std::to_string(pad.top) + "," + std::to_string(pad.bottom) + "," +
                            std::to_string(pad.left) + "," + std::to_string(pad.right);
  output.line("device   " + device_token(device) + " (" + device_name(device) + ")");
  output.line("variant  " + convolution.variant());
  output.line("type     " + std::string(type_name(type)) + ", math " + math_name(math));
  output.line("input    " + shape_text(arrays.input.shape) + ", padding " + sides);
  output.line("weights  " + shape_text(arrays.weights.shape) + (arrays.has_bias ? ", with bias" : ""));
  output.line("output   " + shape_text(y_shape) + " '" + descr + "' in " + options.output);
  output.line("time     " + short_number(time) + " ms" +
              (options.repeat > 1 ? ", median of " + std::to_string(options.repeat) + " runs" : ", first run") + ", " +
              short_number(gflops) + " GFLOP/s");
  Json document = {
      {"device", device_token(device)},
      {"device_name", device_name(device)},
      {"variant", convolution.variant()},
      {"type", type_name(type)},
      {"math", math_name(math)},
      {"padding", {{"top", pad.top}, {"bottom", pad.bottom}, {"left", pad.left}, {"right", pad.right}}},
      {"input", file_entry(options.input, arrays.input.descr, arrays.input.shape)},
      {"weights", file_entry(options.weights, arrays.weights.descr, arrays.weights.shape)},
      {"bias", arrays.has_bias ? file_entry(options.bias, arrays.bias.descr, arrays.bias.shape) : Json(nullptr)},
      {"output", file_entry(options.output, descr, y_shape)},
      {"repeat", options.repeat},
      {"milliseconds", time},
      {"operations", work},
      {"gflops", gflops},
      {"notes", notes}};
  output.document(document);
}

} // namespace hconv::cli
