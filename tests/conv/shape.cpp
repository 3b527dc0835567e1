#include "shape.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace hconv_test {

namespace {

std::vector<int64_t> integers(const std::string &text, char separator, const std::string &what) {
  std::vector<int64_t> values;
  std::istringstream in(text);
  for (std::string field; std::getline(in, field, separator);) {
    size_t used = 0;
    try {
      values.push_back(std::stoll(field, &used));
    } catch (const std::exception &) {
      used = std::string::npos;
    }
    if (used != field.size())
      throw std::invalid_argument("'" + field + "' in " + what + " '" + text + "' is not an integer");
  }
  return values;
}

} // namespace

std::string Shape::text() const {
  std::ostringstream out;
  out << B << ',' << IC << ',' << H << ',' << W << ',' << KH << ',' << KW << ',' << OC << ',' << pad.top << ':'
      << pad.bottom << ':' << pad.left << ':' << pad.right;
  return out.str();
}

Shape shape_from_text(const std::string &text) {
  const size_t colon = text.find(':');
  const size_t comma = colon == std::string::npos ? std::string::npos : text.rfind(',', colon);
  const std::vector<int64_t> v = integers(text.substr(0, comma), ',', "shape");
  if (v.size() != 6 && v.size() != 7)
    throw std::invalid_argument("shape '" + text + "' has " + std::to_string(v.size()) +
                                " extents, expected B,C,H,W,KH,KW or B,C,H,W,KH,KW,C_out");
  Shape shape;
  shape.B = v[0], shape.IC = v[1], shape.H = v[2], shape.W = v[3], shape.KH = v[4], shape.KW = v[5];
  shape.OC = v.size() == 7 ? v[6] : shape.IC;
  if (comma != std::string::npos) {
    const std::vector<int64_t> p = integers(text.substr(comma + 1), ':', "padding of shape");
    if (p.size() != 4 || v.size() != 7)
      throw std::invalid_argument("padding of shape '" + text + "' must be top:bottom:left:right and follow C_out");
    shape.pad = {int32_t(p[0]), int32_t(p[1]), int32_t(p[2]), int32_t(p[3])};
  }
  if (shape.OH() < 1 || shape.OW() < 1)
    throw std::invalid_argument("shape '" + text + "' has no outputs: the kernel is larger than the padded image");
  return shape;
}

std::vector<Shape> shapes_of_file(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::invalid_argument("cannot open the shapes file " + path);
  std::vector<Shape> shapes;
  std::string line;
  for (int number = 1; std::getline(file, line); number++) {
    std::istringstream in(line.substr(0, line.find('#')));
    for (std::string token; in >> token;) {
      try {
        shapes.push_back(shape_from_text(token));
      } catch (const std::invalid_argument &error) {
        throw std::invalid_argument(path + ":" + std::to_string(number) + ": " + error.what());
      }
    }
  }
  return shapes;
}

} // namespace hconv_test
