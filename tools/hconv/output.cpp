#include "commands.h"

#include <cstdio>
#include <iostream>

namespace hconv::cli {

void Output::line(const std::string &text) const {
  if (!json) {
    std::cout << text << std::endl; // flushed: a long bench shows each row when it is there
  }
}

void Output::document(const Json &document) const {
  if (json) {
    // File names need not be UTF-8, JSON must be.
    std::cout << document.dump(2, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
}

void Output::note(const std::string &sentence) const {
  std::cerr << "hconv: " << sentence << std::endl;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

} // namespace hconv::cli
