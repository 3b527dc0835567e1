#include "npy_header.h"

#include "failure.h"

#include <limits>

namespace hconv::cli {

namespace {

/** A reader of the few Python literals that numpy writes: a dictionary of string, bool and tuple of integers. */
class HeaderParser {
public:
  HeaderParser(const std::string &text, const std::string &name) : text(text), name(name) {}

  NpyArray parse() {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string_literal("a key in quotes");
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        parse_descr();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        array.fortran_order = bool_literal();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        parse_shape();
      } else {
        fail("key '" + key + "' is unknown or repeated", "each of 'descr', 'fortran_order' and 'shape' once");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (position != text.size()) {
      fail("text follows the dictionary", "spaces and a newline");
    }
    if (!has_descr || !has_order || !has_shape) {
      const char *missing = !has_descr ? "descr" : !has_order ? "fortran_order" : "shape";
      fail(std::string("key '") + missing + "' is missing", "'descr', 'fortran_order' and 'shape'");
    }
    return array;
  }

private:
  const std::string &text;
  const std::string &name;
  size_t position = 0;
  NpyArray array;

  [[noreturn]] void fail(const std::string &found, const std::string &expected) const {
    throw Failure(EXIT_USAGE, name + ": broken .npy header at byte " + std::to_string(position) + ": " + found +
                                  "; expected " + expected + ".");
  }

  void skip_spaces() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\n' || text[position] == '\t')) {
      ++position;
    }
  }

  bool accept(char c) {
    skip_spaces();
    if (position < text.size() && text[position] == c) {
      ++position;
      return true;
    }
    return false;
  }

  std::string found_here() const {
    if (position >= text.size()) {
      return "the header ends";
    }
    const unsigned char c = static_cast<unsigned char>(text[position]);
    return c < 0x20 || c > 0x7e ? "byte " + std::to_string(c) : std::string("'") + text[position] + "'";
  }

  void expect(char c) {
    if (!accept(c)) {
      fail(found_here(), std::string("'") + c + "'");
    }
  }

  std::string string_literal(const char *expected) {
    skip_spaces();
    if (position >= text.size() || (text[position] != '\'' && text[position] != '"')) {
      fail(found_here(), expected);
    }
    const char quote = text[position];
    const size_t end = text.find_first_of(std::string(1, quote) + "\\\n", position + 1);
    if (end == std::string::npos || text[end] != quote) {
      fail("a text without its closing quote", expected);
    }
    const std::string value = text.substr(position + 1, end - position - 1);
    position = end + 1;
    for (const char c : value) {
      if (c < 0x20 || c > 0x7e) {
        fail("a text with an unprintable character", expected);
      }
    }
    return value;
  }

  bool bool_literal() {
    skip_spaces();
    for (const bool value : {false, true}) {
      const std::string word = value ? "True" : "False";
      if (text.compare(position, word.size(), word) == 0) {
        position += word.size();
        return value;
      }
    }
    fail(found_here(), "True or False");
  }

  int64_t integer_literal() {
    skip_spaces();
    const size_t start = position;
    int64_t value = 0;
    for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
      const int digit = text[position] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) {
        fail("an extent of 2^63 or more", "extents whose product fits into memory");
      }
      value = value * 10 + digit;
    }
    if (position == start) {
      fail(found_here(), "an extent of at least 0");
    }
    accept('L'); // Python 2 wrote long integers so
    return value;
  }

  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      array.shape.push_back(integer_literal());
      if (array.shape.size() > 64) {
        fail("more than 64 dimensions", "at most 64, numpy's limit");
      }
      if (!accept(',')) {
        expect(')');
        if (array.shape.size() == 1) {
          fail("(" + std::to_string(array.shape[0]) + ") is not a tuple", "a comma before ')'");
        }
        break;
      }
    }
    // Extents of 0 are left out of the product: one of them does not excuse the others, whose products are strides.
    int64_t elements = 1;
    for (const int64_t extent : array.shape) {
      if (extent > 0 && elements > std::numeric_limits<int64_t>::max() / 8 / extent) {
        fail("shape " + shape_text(array.shape) + " has too many elements", "a shape that fits into memory");
      }
      elements *= extent > 0 ? extent : 1;
    }
  }

  void parse_descr() {
    skip_spaces();
    if (position < text.size() && text[position] == '[') {
      throw Failure(EXIT_UNSUPPORTED, name + ": the array has structured elements (records); expected plain numbers.");
    }
    array.descr = string_literal("an element type such as '<f4'");
    std::string code = array.descr;
    char order = '|';
    if (!code.empty() && std::string("<>|=").find(code[0]) != std::string::npos) {
      order = code[0];
      code.erase(0, 1);
    }
    static const char *const known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "V2"};
    for (const char *candidate : known) {
      if (code == candidate) {
        array.kind = code[0];
        array.item_bytes = code[1] - '0';
      }
    }
    const bool order_missing = order == '|' && array.item_bytes > 1 && array.kind != 'V';
    const bool swapped_raw = array.kind == 'V' && order == '>';
    if (array.kind == 0 || order_missing || swapped_raw) {
      throw Failure(EXIT_UNSUPPORTED, name + ": element type '" + array.descr +
                                          "' is not supported; expected float16, float32, float64, an integer type, "
                                          "bool, or bfloat16 as ml_dtypes writes it ('<V2').");
    }
    array.big_endian = order == '>';
  }
};

} // namespace

NpyArray parse_npy_header(const std::string &header, const std::string &name) {
  return HeaderParser(header, name).parse();
}

} // namespace hconv::cli
