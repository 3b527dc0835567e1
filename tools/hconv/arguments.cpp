#include "arguments.h"

#include "failure.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

namespace hconv::cli {

namespace {

constexpr int64_t largest_extent = std::numeric_limits<int32_t>::max();

/** Integers from 0 to 2^31 - 1 between separators; false for anything else. */
bool parse_numbers(const std::string &text, std::vector<int64_t> &numbers, char separator = ',') {
  int64_t value = 0;
  bool has_digit = false;
  for (const char c : text + separator) {
    if (c >= '0' && c <= '9') {
      has_digit = true;
      value = 10 * value + (c - '0');
      if (value > largest_extent) {
        return false;
      }
    } else if (c == separator && has_digit) {
      numbers.push_back(value);
      value = 0;
      has_digit = false;
    } else {
      return false;
    }
  }
  return true;
}

hconv_padding padding_of(const std::vector<int64_t> &sides) {
  return hconv_padding{static_cast<int32_t>(sides[0]), static_cast<int32_t>(sides[1]), static_cast<int32_t>(sides[2]),
                       static_cast<int32_t>(sides[3])};
}

[[noreturn]] void fail(const std::string &argument, const std::string &found, const std::string &expected) {
  throw Failure(EXIT_USAGE, argument + ": '" + found + "' was given; expected " + expected + ".");
}

} // namespace

Shape parse_shape(const std::string &text, const std::string &argument) {
  const size_t colon = text.find(':');
  const size_t comma = colon == std::string::npos ? std::string::npos : text.rfind(',', colon);
  std::vector<int64_t> n, sides;
  const bool extents_right = parse_numbers(text.substr(0, comma), n) && (n.size() == 6 || n.size() == 7);
  const bool padding_right =
      colon == std::string::npos || (comma != std::string::npos && n.size() == 7 &&
                                     parse_numbers(text.substr(comma + 1), sides, ':') && sides.size() == 4);
  if (!extents_right || !padding_right) {
    fail(argument, text,
         "B,C,H,W,KH,KW[,C_out[,top:bottom:left:right]]: integers from 0 to 2147483647, without spaces, for example "
         "4,64,128,128,8,8");
  }
  Shape shape{n[0], n[1], n[2], n[3], n[4], n[5], n.size() == 7 ? n[6] : n[1], std::nullopt};
  if (!sides.empty()) {
    shape.padding = padding_of(sides);
  }
  return shape;
}

std::string shape_token(const Shape &s) {
  std::string token;
  for (const int64_t n : {s.batch, s.in_channels, s.height, s.width, s.kernel_height, s.kernel_width}) {
    token += std::to_string(n) + ",";
  }
  return token + std::to_string(s.out_channels);
}

std::vector<Shape> read_shapes(const std::string &path) {
  errno = 0;
  std::ifstream stream(path);
  std::string line;
  std::vector<Shape> shapes;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      shapes.push_back(parse_shape(word, path + ":" + std::to_string(number)));
    }
  }
  if (shapes.empty()) {
    const std::string reason = stream.is_open() && !stream.bad() ? "holds no shape" : std::strerror(errno);
    throw Failure(EXIT_USAGE,
                  "--file " + path + ": " + reason + "; expected a file with one B,C,H,W,KH,KW[,C_out] a line.");
  }
  return shapes;
}

hconv_padding parse_padding(const std::string &text, int64_t kernel_height, int64_t kernel_width) {
  if (text == "same") {
    const int64_t rows = kernel_height > 0 ? kernel_height - 1 : 0, columns = kernel_width > 0 ? kernel_width - 1 : 0;
    return hconv_padding{static_cast<int32_t>(rows / 2), static_cast<int32_t>(rows - rows / 2),
                         static_cast<int32_t>(columns / 2), static_cast<int32_t>(columns - columns / 2)};
  }
  std::vector<int64_t> numbers;
  if (!parse_numbers(text, numbers) || (numbers.size() != 1 && numbers.size() != 4)) {
    fail("--pad", text, "N, TOP,BOTTOM,LEFT,RIGHT (integers of at least 0, without spaces), or same");
  }
  if (numbers.size() == 1) {
    numbers.resize(4, numbers[0]);
  }
  return padding_of(numbers);
}

Type parse_type(const std::string &text) {
  for (const Type type : {Type::f32, Type::bf16, Type::f16}) {
    if (text == type_name(type)) {
      return type;
    }
  }
  fail("--type", text, "f32, bf16 or f16");
}

hconv_layout parse_layout(const std::string &text) {
  for (const hconv_layout layout : {HCONV_LAYOUT_NCHW, HCONV_LAYOUT_NHWC}) {
    if (text == layout_name(layout)) {
      return layout;
    }
  }
  fail("--layout", text, "nchw or nhwc");
}

const char *layout_name(hconv_layout layout) {
  return layout == HCONV_LAYOUT_NHWC ? "nhwc" : "nchw";
}

const char *math_name(hconv_math math) {
  return math == HCONV_MATH_STRICT ? "strict" : math == HCONV_MATH_TF32 ? "tf32" : "fp32";
}

hconv_math parse_math(const std::string &text) {
  for (const hconv_math math : {HCONV_MATH_FP32, HCONV_MATH_STRICT, HCONV_MATH_TF32}) {
    if (text == math_name(math)) {
      return math;
    }
  }
  fail("--math", text, "fp32, strict or tf32");
}

DLDevice select_device(const std::string &text, bool must_exist) {
  if (text.empty()) {
    DLDevice device;
    check(hconv_default_device(&device), "choosing a device");
    return device;
  }
  if (text == "cpu") {
    return DLDevice{kDLCPU, 0};
  }
  std::vector<int64_t> ordinal;
  if (text == "cuda") {
    ordinal = {0};
  } else if (text.compare(0, 5, "cuda:") != 0 || !parse_numbers(text.substr(5), ordinal) || ordinal.size() != 1) {
    fail("--device", text, "cpu, cuda or cuda:N");
  }
  const int devices = hconv_cuda_device_count();
  if (must_exist && ordinal[0] >= devices) {
    throw Failure(EXIT_NO_DEVICE,
                  "--device: '" + text + "' was given, but " +
                      (devices == 0 ? "there is no CUDA driver or no CUDA device here; expected cpu."
                                    : "there are " + std::to_string(devices) + " CUDA devices; expected cuda:0" +
                                          (devices > 1 ? " to cuda:" + std::to_string(devices - 1) : "") + "."));
  }
  return DLDevice{kDLCUDA, static_cast<int>(ordinal[0])};
}

std::string device_token(DLDevice device) {
  return device.device_type == kDLCPU ? "cpu" : "cuda:" + std::to_string(device.device_id);
}

std::string device_name(DLDevice device) {
  return text_of([&](char *text, size_t *size) { return hconv_device_name(device, text, size); },
                 "asking for the name of " + device_token(device));
}

hconv_problem make_problem(const Shape &shape, const hconv_padding &padding, Type type, hconv_math math,
                           DLDevice device, hconv_layout layout) {
  hconv_problem problem = {};
  problem.dtype = dl_type(type);
  problem.device = device;
  problem.math = math;
  problem.batch = shape.batch;
  problem.in_channels = shape.in_channels;
  problem.height = shape.height;
  problem.width = shape.width;
  problem.out_channels = shape.out_channels;
  problem.kernel_height = shape.kernel_height;
  problem.kernel_width = shape.kernel_width;
  problem.padding = padding;
  problem.layout = layout;
  return problem;
}

double operations(const Shape &shape, const int64_t output[4]) {
  return 2.0 * static_cast<double>(output[0]) * static_cast<double>(output[1]) * static_cast<double>(output[2]) *
         static_cast<double>(output[3]) * static_cast<double>(shape.in_channels) *
         static_cast<double>(shape.kernel_height) * static_cast<double>(shape.kernel_width);
}

} // namespace hconv::cli
