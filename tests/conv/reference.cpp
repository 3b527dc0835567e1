#include "reference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>

namespace hconv_test {

std::vector<double> convolve(const Shape &s, const Inputs &in) {
  const int64_t OH = s.OH(), OW = s.OW();
  std::vector<double> y(s.y_size());
  // A row of x with its zeros around it, so that the inner loop has no tests and every tap multiplies.
  std::vector<double> row(s.W + s.pad.left + s.pad.right, 0.0);
  for (int64_t b = 0; b < s.B; b++)
    for (int64_t ic = 0; ic < s.IC; ic++)
      for (int64_t r = 0; r < s.H + s.pad.top + s.pad.bottom; r++) {
        const int64_t h = r - s.pad.top;
        for (int64_t w = 0; w < s.W; w++)
          row[w + s.pad.left] = h >= 0 && h < s.H ? in.x[((b * s.IC + ic) * s.H + h) * s.W + w] : 0.0;
        for (int64_t kh = 0; kh < s.KH; kh++) {
          const int64_t oh = r - kh;
          if (oh < 0 || oh >= OH)
            continue;
          for (int64_t oc = 0; oc < s.OC; oc++) {
            double *out = &y[((b * s.OC + oc) * OH + oh) * OW];
            for (int64_t kw = 0; kw < s.KW; kw++) {
              const double weight = in.w[((oc * s.IC + ic) * s.KH + kh) * s.KW + kw];
              for (int64_t ow = 0; ow < OW; ow++)
                out[ow] += weight * row[ow + kw];
            }
          }
        }
      }
  if (!in.bias.empty())
    for (int64_t i = 0; i < s.y_size(); i++)
      y[i] += in.bias[i / (OH * OW) % s.OC];
  return y;
}

std::vector<double> convolve_magnitudes(const Shape &shape, const Inputs &inputs) {
  Inputs magnitudes = inputs;
  for (std::vector<double> *values : {&magnitudes.x, &magnitudes.w, &magnitudes.bias})
    for (double &value : *values)
      value = std::fabs(value);
  return convolve(shape, magnitudes);
}

std::vector<double> convolve_norms(const Shape &s, const Inputs &in, int fft_h, int fft_w) {
  const int64_t step_h = fft_h - s.KH + 1, step_w = fft_w - s.KW + 1;
  std::vector<double> y(s.y_size());
  std::map<std::vector<int64_t>, double> tiles;
  for (int64_t i = 0; i < s.y_size(); i++) {
    const int64_t ow = i % s.OW(), oh = i / s.OW() % s.OH(), oc = i / (s.OW() * s.OH()) % s.OC;
    const int64_t b = i / (s.OW() * s.OH() * s.OC);
    const std::vector<int64_t> place = {b, oh / step_h * step_h - s.pad.top, ow / step_w * step_w - s.pad.left};
    const auto [tile, made] = tiles.try_emplace(place, 0.0);
    if (made) {
      double squares = 0;
      for (int64_t ic = 0; ic < s.IC; ic++)
        for (int64_t h = std::max<int64_t>(place[1], 0); h < std::min(place[1] + fft_h, s.H); h++)
          for (int64_t w = std::max<int64_t>(place[2], 0); w < std::min(place[2] + fft_w, s.W); w++)
            squares += std::pow(in.x[((b * s.IC + ic) * s.H + h) * s.W + w], 2);
      tile->second = std::sqrt(squares);
    }
    double squares = 0;
    for (int64_t k = 0; k < s.terms(); k++)
      squares += std::pow(in.w[oc * s.terms() + k], 2);
    y[i] = tile->second * std::sqrt(squares) + (in.bias.empty() ? 0 : std::fabs(in.bias[oc]));
  }
  return y;
}

Inputs integer_inputs(const Shape &shape, bool with_bias, uint64_t seed) {
  const int bias_limit = 64;
  // terms * limit^2 + bias stays below 2^24; 15 is exact in bfloat16 as well.
  const double room = std::sqrt((std::ldexp(1.0, 24) - bias_limit) / double(shape.terms()));
  const int limit = int(std::min(15.0, room));
  std::mt19937_64 random(seed * 7919 + uint64_t(shape.terms()));
  auto fill = [&](std::vector<double> &values, int64_t count, int magnitude) {
    values.resize(count);
    for (double &value : values)
      value = double(int64_t(random() % uint64_t(2 * magnitude + 1)) - magnitude);
  };
  Inputs inputs;
  fill(inputs.x, shape.x_size(), limit);
  fill(inputs.w, shape.w_size(), limit);
  if (with_bias)
    fill(inputs.bias, shape.OC, bias_limit);
  return inputs;
}

Inputs normal_inputs(const Shape &shape, Element type, bool with_bias, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  auto fill = [&](std::vector<double> &values, int64_t count) {
    values.resize(count);
    for (double &value : values)
      value = round_to(type, normal(random));
  };
  Inputs inputs;
  fill(inputs.x, shape.x_size());
  fill(inputs.w, shape.w_size());
  if (with_bias)
    fill(inputs.bias, shape.OC);
  return inputs;
}

const ExactCase &exact_case(const Shape &shape, bool with_bias) {
  static std::mutex mutex;
  static std::map<std::string, ExactCase> cases;
  std::lock_guard<std::mutex> lock(mutex);
  const std::string key = shape.text() + (with_bias ? "+bias" : "");
  auto found = cases.find(key);
  if (found == cases.end()) {
    ExactCase made;
    made.inputs = integer_inputs(shape, with_bias);
    made.y = convolve(shape, made.inputs);
    found = cases.emplace(key, std::move(made)).first;
  }
  return found->second;
}

double error_bound(const Shape &shape, Element type, bool truncates, double exact, double magnitude) {
  // A product is rounded at most once by itself and then by at most IC*KH*KW additions (the bias is one term more). A
  // step of a tensor core cuts each product that is not 0, the sum before it, and the new sum: at most thrice as many.
  const double n = (truncates ? 3 : 1) * (double(shape.terms()) + 1);
  const double u = std::ldexp(1.0, truncates ? -23 : -24);
  const double sum_error = n * u / (1 - n * u) * magnitude;
  if (type == Element::f32)
    return sum_error;
  const double store_error = unit_roundoff(type) * (std::fabs(exact) + sum_error);
  return sum_error + std::max(store_error, std::ldexp(1.0, smallest_exponent(type) - 1));
}

double transform_error_bound(const Shape &shape, int fft_h, int fft_w, int products, double magnitude) {
  const double u = std::ldexp(1.0, -24), levels = std::log2(double(fft_h) * fft_w) + 2;
  const double spectrum = std::pow(1 + 5.6 * u, levels) - 1, IC = double(shape.IC);
  const double sums = products == 3 ? (std::sqrt(10.0) * IC + 8.1) * u : 2 * std::sqrt(2.0) * IC * u;
  const double relative = std::pow(1 + spectrum, 2) * (1 + sums) * (1 + 2 * spectrum) * (1 + u) - 1;
  return relative * magnitude + std::ldexp(1.0, -120); // the tests' numbers are far from underflow
}

} // namespace hconv_test
