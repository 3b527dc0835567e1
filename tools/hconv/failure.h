#ifndef HCONV_CLI_FAILURE_H
#define HCONV_CLI_FAILURE_H

#include <hconv/hconv.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace hconv::cli {

/** Exit codes of the command; `hconv --help` documents them. 1 is left to the shell and to crashes. */
enum ExitCode {
  EXIT_OK = 0,
  EXIT_USAGE = 2,       ///< the command line, a file, or the shapes together are wrong
  EXIT_UNSUPPORTED = 3, ///< a meaningful request that hconv does not serve
  EXIT_NO_DEVICE = 4,   ///< CUDA was asked for and is not there
  EXIT_DEVICE = 5       ///< the device failed, memory ran out, hconv is at fault, or an answer was wrong
};

/** Ends the command: `what()` is the sentence for the user, `exit_code` one of ExitCode. */
class Failure : public std::runtime_error {
public:
  Failure(ExitCode exit_code, const std::string &sentence) : std::runtime_error(sentence), exit_code(exit_code) {}
  ExitCode exit_code;
};

/** A Failure whose JSON document has been printed already: results with errors inside. */
class Reported : public Failure {
  using Failure::Failure;
};

/** The exit code that stands for a library status. */
ExitCode exit_code_of(hconv_status status);

/** Throws the Failure that belongs to `status` unless it is HCONV_OK. `doing` starts the sentence ("packing w.npy"). */
void check(hconv_status status, const std::string &doing);

/** Calls a function that fills a text by the rules of hconv_explain, with a buffer that is large enough.
 * Throws Failure when the function fails for any other reason than the buffer. */
std::string text_of(const std::function<hconv_status(char *text, size_t *size)> &fill, const std::string &doing);

} // namespace hconv::cli
#endif
