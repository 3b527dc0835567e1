#include "arguments.h"
#include "commands.h"
#include "device.h"
#include "failure.h"
#include "reference.h"
#include "stopwatch.h"

#include <cstdio>

namespace hconv::cli {

namespace {

/** A line of the table; the columns of the heading. */
std::string row(const std::string &shape, const std::string &ms, const std::string &best, const std::string &gflops,
                const std::string &error, const std::string &checked, const std::string &variant) {
  char text[512];
  std::snprintf(text, sizeof(text), "%-30s %9s %9s %9s %10s %10s  %s", shape.c_str(), ms.c_str(), best.c_str(),
                gflops.c_str(), error.c_str(), checked.c_str(), variant.c_str());
  return text;
}

std::string padded_token(const Shape &shape, const hconv_padding &pad) {
  std::string token = shape_token(shape);
  if (pad.top != 0 || pad.bottom != 0 || pad.left != 0 || pad.right != 0) {
    token += "," + std::to_string(pad.top) + ":" + std::to_string(pad.bottom) + ":" + std::to_string(pad.left) + ":" +
             std::to_string(pad.right);
  }
  return token;
}

/** Checks one problem's answer, times it, prints its row and gives its entry. A wrong answer is not timed. */
Json bench_one(const Shape &shape, const hconv_problem &problem, Type type, int repeat, Stopwatch &watch,
               const Output &output) {
  const std::string token = padded_token(shape, problem.padding);
  Convolution convolution(problem, type, false, "planning");
  const std::vector<int64_t> y_shape = convolution.output_shape();
  const int64_t x_size = shape.batch * shape.in_channels * shape.height * shape.width;
  const int64_t w_size = shape.out_channels * shape.in_channels * shape.kernel_height * shape.kernel_width;
  const std::vector<unsigned char> x = random_elements(x_size, type, 1), w = random_elements(w_size, type, 2);
  convolution.set_input(x.data());
  convolution.set_weights(w.data());
  convolution.poison_output();
  convolution.run();
  const Accuracy accuracy = compare_with_float64(problem, type, promised_error(problem), x, w, convolution.output());

  Json entry = {{"shape", token},
                {"variant", convolution.variant()},
                {"right", accuracy.right()},
                {"checked", accuracy.checked},
                {"outputs", accuracy.outputs},
                {"relative_l2_error", accuracy.relative_l2},
                {"worst_error_over_bound", accuracy.worst_share}};
  if (!accuracy.right()) {
    throw Failure(EXIT_DEVICE, "wrong answer of " + convolution.variant() + " at flat output index " +
                                   std::to_string(accuracy.worst_index) + ": " + short_number(accuracy.worst_value) +
                                   " was computed; expected " + short_number(accuracy.worst_reference) +
                                   ", and the error is " + short_number(accuracy.worst_share) + " times its bound.");
  }
  const std::vector<double> times = watch.sorted_milliseconds(convolution, repeat);
  const double time = median(times), work = operations(shape, y_shape.data());
  const double gflops = work / time * 1e-6;
  entry["repeat"] = times.size();
  entry["milliseconds"] = time;
  entry["milliseconds_best"] = times.front();
  entry["operations"] = work;
  entry["gflops"] = gflops;
  output.line(row(
      token, short_number(time), short_number(times.front()), short_number(gflops), short_number(accuracy.relative_l2),
      accuracy.checked == accuracy.outputs ? "all" : std::to_string(accuracy.checked), convolution.variant()));
  return entry;
}

} // namespace

void run_bench(const BenchOptions &options, const Output &output) {
  std::vector<Shape> shapes;
  for (const std::string &text : options.shapes) {
    shapes.push_back(parse_shape(text, "SHAPE"));
  }
  if (!options.file.empty()) {
    const std::vector<Shape> more = read_shapes(options.file);
    shapes.insert(shapes.end(), more.begin(), more.end());
  }
  if (shapes.empty()) {
    throw Failure(EXIT_USAGE, "SHAPE: none was given; expected at least one B,C,H,W,KH,KW[,C_out] or --file.");
  }
  const Type type = parse_type(options.problem.type.empty() ? "f32" : options.problem.type);
  const hconv_math math = parse_math(options.problem.math);
  parse_padding(options.problem.padding, 1, 1); // a wrong --pad ends the command before any row
  const hconv_layout layout = parse_layout(options.problem.layout);
  const DLDevice device = select_device(options.problem.device);
  Stopwatch watch(device, true);

  const bool cuda = device.device_type == kDLCUDA;
  output.line("device " + device_token(device) + " (" + device_name(device) + "), type " + type_name(type) + ", math " +
              math_name(math) + ", layout " + layout_name(layout) + ", median time, weights packed before" +
              (cuda ? ", L2 cleared before each run" : ""));
  output.line(row("B,C,H,W,KH,KW,C_out[,padding]", "ms", "best ms", "GFLOP/s", "rel. error", "checked", "variant"));
  Json results = Json::array();
  ExitCode exit_code = EXIT_OK;
  size_t failed = 0;
  for (const Shape &shape : shapes) {
    const hconv_padding pad =
        shape.padding.value_or(parse_padding(options.problem.padding, shape.kernel_height, shape.kernel_width));
    try {
      results.push_back(
          bench_one(shape, make_problem(shape, pad, type, math, device, layout), type, options.repeat, watch, output));
    } catch (const Failure &failure) { // the other shapes are still worth their rows
      output.note(padded_token(shape, pad) + ": " + failure.what());
      results.push_back({{"shape", padded_token(shape, pad)}, {"error", failure.what()}});
      exit_code = failure.exit_code;
      ++failed;
    }
  }
  output.document({{"device", device_token(device)},
                   {"device_name", device_name(device)},
                   {"type", type_name(type)},
                   {"math", math_name(math)},
                   {"layout", layout_name(layout)},
                   {"l2_cleared", cuda},
                   {"results", results}});
  if (failed > 0) {
    throw Reported(exit_code, std::to_string(failed) + " of " + std::to_string(shapes.size()) + " shapes failed.");
  }
}

} // namespace hconv::cli
