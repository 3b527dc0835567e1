/** Asks Halide something in a child process: a compile error ends the process that meets it, and names are numbered
 * across a process, so that a text would depend on the tests before it. */
#pragma once

#include <functional>
#include <string>

namespace hconv_test {

struct Answer {
  std::string text;  // what the question returned
  std::string error; // or the compile error, internal error, exception or signal that ended it
};

/** Runs the question in a child of this process. */
Answer ask(const std::function<std::string()> &question);

/** The answer's text; an error is a failure of the current test. */
std::string text_of(const std::function<std::string()> &question);

/** The text of the compile error that the question must end with; anything else is a failure of the current test. */
std::string refusal_of(const std::function<std::string()> &question);

} // namespace hconv_test
