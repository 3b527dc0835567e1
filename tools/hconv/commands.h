#ifndef HCONV_CLI_COMMANDS_H
#define HCONV_CLI_COMMANDS_H

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace hconv::cli {

using Json = nlohmann::ordered_json;

/** Where a command's words go: results to stdout, either as lines or as one JSON document; remarks to stderr. */
class Output {
public:
  explicit Output(bool json) : json(json) {}
  const bool json;

  void line(const std::string &text) const;     ///< a line of the result; nothing with --json
  void document(const Json &document) const;    ///< the result as JSON; nothing without --json
  void note(const std::string &sentence) const; ///< a remark on stderr
};

/** What several commands share, as typed; an empty text means the default. */
struct ProblemOptions {
  std::string padding = "0", type, math = "fp32", device, layout = "nchw";
};

struct ConvOptions {
  std::string input, weights, bias, output;
  ProblemOptions problem;
  int repeat = 1;
};

struct BenchOptions {
  std::vector<std::string> shapes;
  std::string file;
  ProblemOptions problem;
  int repeat = 0; ///< 0: as many as fit into about a second, 3 to 50
};

struct ExplainOptions {
  std::string shape;
  ProblemOptions problem;
};

/** Each runs one command and throws Failure where it cannot. */
void run_conv(const ConvOptions &options, const Output &output);
void run_bench(const BenchOptions &options, const Output &output);
void run_explain(const ExplainOptions &options, const Output &output);
void run_list(const Output &output);
void run_devices(const Output &output);
void run_version(const Output &output);

/** "12.3", "0.0456": four significant digits. */
std::string short_number(double value);

} // namespace hconv::cli
#endif
