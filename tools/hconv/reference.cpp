#include "reference.h"

#include "commands.h"
#include "failure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <tuple>

namespace hconv::cli {

namespace {

/** All elements as float32, which holds every number of every type. */
std::vector<float> as_float(const std::vector<unsigned char> &data, Type type) {
  std::vector<float> values(data.size() / static_cast<size_t>(type_bytes(type)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(load_element(data.data(), static_cast<int64_t>(i), type));
  }
  return values;
}

struct Sums {
  double sum = 0, magnitudes = 0;
};

/** The float64 sum for the output with flat index `index`, and the sum of the magnitudes of its terms. */
Sums output_sums(const hconv_problem &p, int64_t OH, int64_t OW, const float *x, const float *w, int64_t index) {
  const int64_t ow = index % OW, oh = index / OW % OH, oc = index / (OW * OH) % p.out_channels;
  const int64_t b = index / (OW * OH * p.out_channels);
  Sums sums;
  for (int64_t ic = 0; ic < p.in_channels; ++ic) {
    const float *plane = x + (b * p.in_channels + ic) * p.height * p.width;
    const float *taps = w + (oc * p.in_channels + ic) * p.kernel_height * p.kernel_width;
    for (int64_t kh = 0; kh < p.kernel_height; ++kh) {
      const int64_t ih = oh + kh - p.padding.top;
      if (ih < 0 || ih >= p.height) {
        continue;
      }
      const int64_t first = std::max<int64_t>(0, p.padding.left - ow);
      const int64_t last = std::min<int64_t>(p.kernel_width, p.width + p.padding.left - ow);
      for (int64_t kw = first; kw < last; ++kw) {
        const double product = static_cast<double>(plane[ih * p.width + ow + kw - p.padding.left]) *
                               static_cast<double>(taps[kh * p.kernel_width + kw]);
        sums.sum += product;
        sums.magnitudes += std::fabs(product);
      }
    }
  }
  return sums;
}

/** Products of the 2-norms of tiles and filters, each computed when it is first asked for. */
class NormProducts {
public:
  NormProducts(const hconv_problem &p, const PromisedError::Tiles &tiles, const float *x, const float *w)
      : p(p), tiles(tiles), x(x), w(w) {}

  double of(int64_t b, int64_t oc, int64_t oh, int64_t ow) {
    return tile_norm(b, oh / tiles.step_height, ow / tiles.step_width) * filter_norm(oc);
  }

private:
  double tile_norm(int64_t b, int64_t row, int64_t column) {
    const auto [entry, made] = tile_norms.try_emplace({b, row, column}, 0.0);
    if (made) {
      const int64_t top = row * tiles.step_height - p.padding.top, left = column * tiles.step_width - p.padding.left;
      double squares = 0;
      for (int64_t ic = 0; ic < p.in_channels; ++ic) {
        for (int64_t h = std::max<int64_t>(top, 0); h < std::min(top + tiles.height, p.height); ++h) {
          for (int64_t i = std::max<int64_t>(left, 0); i < std::min(left + tiles.width, p.width); ++i) {
            const double value = x[((b * p.in_channels + ic) * p.height + h) * p.width + i];
            squares += value * value;
          }
        }
      }
      entry->second = std::sqrt(squares);
    }
    return entry->second;
  }

  double filter_norm(int64_t oc) {
    const auto [entry, made] = filter_norms.try_emplace(oc, 0.0);
    if (made) {
      const int64_t taps = p.in_channels * p.kernel_height * p.kernel_width;
      double squares = 0;
      for (int64_t i = 0; i < taps; ++i) {
        const double value = w[oc * taps + i];
        squares += value * value;
      }
      entry->second = std::sqrt(squares);
    }
    return entry->second;
  }

  const hconv_problem &p;
  PromisedError::Tiles tiles;
  const float *x, *w;
  std::map<std::tuple<int64_t, int64_t, int64_t>, double> tile_norms;
  std::map<int64_t, double> filter_norms;
};

double error_bound(const hconv_problem &p, Type type, double relative, const Sums &sums) {
  const double terms = static_cast<double>(p.in_channels * p.kernel_height * p.kernel_width);
  double bound = relative * sums.magnitudes + 3 * (terms + 1) * type_smallest(Type::f32);
  if (type != Type::f32) {
    bound += type_roundoff(type) * (std::fabs(sums.sum) + bound) + type_smallest(type) / 2;
  }
  return bound;
}

} // namespace

PromisedError promised_error(const hconv_problem &problem) {
  const std::string doing = "reading the library's error bound";
  const std::string text =
      text_of([&](char *to, size_t *size) { return hconv_explain(&problem, HCONV_JSON, to, size); }, doing);
  try {
    const Json document = Json::parse(text), bound = document.at("error_bound");
    if (bound.at("relative_to_norms_of_tile_and_filter").is_null()) {
      return PromisedError(bound.at("relative_to_sum_of_absolute_products").get<double>());
    }
    PromisedError promise(bound.at("relative_to_norms_of_tile_and_filter").get<double>());
    const Json tile = document.at("transform").at("tile"), step = document.at("transform").at("step");
    promise.tiles = PromisedError::Tiles{tile.at(0), tile.at(1), step.at(0), step.at(1)};
    return promise;
  } catch (const Json::exception &error) {
    throw Failure(EXIT_DEVICE, doing + ": the library's JSON is broken: " + error.what());
  }
}

Accuracy compare_with_float64(const hconv_problem &p, Type type, const PromisedError &promise,
                              const std::vector<unsigned char> &x, const std::vector<unsigned char> &w,
                              const std::vector<unsigned char> &y, double budget) {
  const int64_t OH = p.height + p.padding.top + p.padding.bottom - p.kernel_height + 1;
  const int64_t OW = p.width + p.padding.left + p.padding.right - p.kernel_width + 1;
  const std::vector<float> xs = as_float(x, type), ws = as_float(w, type);
  std::optional<NormProducts> norms;
  if (promise.tiles) {
    norms.emplace(p, *promise.tiles, xs.data(), ws.data());
  }
  Accuracy accuracy;
  accuracy.outputs = p.batch * p.out_channels * OH * OW;
  const double terms = static_cast<double>(std::max<int64_t>(1, p.in_channels * p.kernel_height * p.kernel_width));
  const int64_t affordable = static_cast<int64_t>(std::min(1e15, std::max(64.0, budget / terms)));
  accuracy.checked = std::min(accuracy.outputs, affordable);
  std::mt19937_64 random(1);
  double squared_error = 0, squared_reference = 0;
  for (int64_t i = 0; i < accuracy.checked; ++i) {
    int64_t index = i;
    if (accuracy.checked < accuracy.outputs && i > 0) {
      index = i == 1 ? accuracy.outputs - 1 : static_cast<int64_t>(random() % static_cast<uint64_t>(accuracy.outputs));
    }
    Sums sums = output_sums(p, OH, OW, xs.data(), ws.data(), index);
    if (norms) {
      sums.magnitudes = norms->of(index / (OW * OH * p.out_channels), index / (OW * OH) % p.out_channels,
                                  index / OW % OH, index % OW);
    }
    const double value = load_element(y.data(), index, type);
    const double error = std::fabs(value - sums.sum);
    // A NaN must not pass the comparison below unseen: every input is finite, so a NaN is a wrong answer.
    const double share = std::isnan(error) ? HUGE_VAL : error / error_bound(p, type, promise.relative, sums);
    if (share > accuracy.worst_share) {
      accuracy.worst_share = share;
      accuracy.worst_index = index;
      accuracy.worst_value = value;
      accuracy.worst_reference = sums.sum;
    }
    squared_error += error * error;
    squared_reference += sums.sum * sums.sum;
  }
  accuracy.relative_l2 =
      squared_reference > 0 ? std::sqrt(squared_error / squared_reference) : std::sqrt(squared_error);
  return accuracy;
}

std::vector<unsigned char> random_elements(int64_t elements, Type type, uint32_t seed) {
  std::mt19937 random(seed);
  const size_t bytes = static_cast<size_t>(type_bytes(type));
  std::vector<unsigned char> data(static_cast<size_t>(elements) * bytes);
  for (size_t i = 0; i < data.size(); i += bytes) {
    const double value = static_cast<double>(static_cast<int64_t>(random() >> 8) - (1 << 23)) * std::ldexp(1, -23);
    const uint32_t bits = round_to_bits(value, type);
    std::memcpy(data.data() + i, &bits, bytes); // little-endian: the low bytes are the element
  }
  return data;
}

} // namespace hconv::cli
