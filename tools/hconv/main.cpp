#include "commands.h"
#include "failure.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <new>

namespace hconv::cli {

namespace {

const char *const exit_codes = "Exit codes:\n"
                               "  0  done\n"
                               "  2  the command line, a file or the shapes are wrong\n"
                               "  3  a meaningful request that hconv does not support\n"
                               "  4  CUDA was asked for, but there is no driver or no such device\n"
                               "  5  the device failed, memory ran out, an answer was wrong, or a fault of hconv\n"
                               "Results go to stdout, messages to stderr. With --json stdout holds one JSON document,\n"
                               "which is {\"error\": {...}} where the command failed before it had results.";

const char *const environment = "Environment:\n"
                                "  HCONV_DEVICE   device when --device is not given: cpu or cuda\n"
                                "  HCONV_VARIANT, HCONV_BACKEND, HCONV_LOG, HCONV_CHECK: see docs/cli.md\n";

const char *const shape_help = "SHAPE is B,C,H,W,KH,KW[,C_out[,top:bottom:left:right]], for example 4,64,128,128,8,8\n"
                               "(C_out is C if left out; a padding inside SHAPE wins over --pad).\n";

/** One command: its options live in `App`, its work in `run`. */
struct Command {
  CLI::App *app;
  std::function<void(const Output &)> run;
};

void add_padding(CLI::App *app, ProblemOptions &options) {
  app->add_option("--pad", options.padding,
                  "Zeros around the image: N, TOP,BOTTOM,LEFT,RIGHT, or same (output as large as the input; the odd "
                  "pixel of an even kernel goes to the bottom and right). Default 0");
}

void add_type_math_device(CLI::App *app, ProblemOptions &options, const std::string &default_type) {
  app->add_option("--type", options.type, "Element type: f32, bf16 or f16. Default " + default_type);
  app->add_option("--math", options.math,
                  "fp32 (error no worse than strict), strict (float32 multiply-add only) or tf32. Default fp32");
  app->add_option("--device", options.device,
                  "cpu, cuda or cuda:N. Default $HCONV_DEVICE, else cuda if there is a device, else cpu");
}

void add_layout(CLI::App *app, ProblemOptions &options) {
  app->add_option("--layout", options.layout,
                  "How x, w and y lie in memory: nchw, or nhwc (channels last). Shapes are B,C,H,W in either. Default "
                  "nchw");
}

Command add_conv(CLI::App &main, ConvOptions &options) {
  CLI::App *app = main.add_subcommand("conv", "Convolve an array of a .npy file and write the result to another");
  app->add_option("--input,-i", options.input, "x, (B, C, H, W) or one image (C, H, W); then y has no B either")
      ->required();
  app->add_option("--weights,-w", options.weights, "w, (C_out, C, KH, KW); not flipped (cross-correlation)")
      ->required();
  app->add_option("--bias,-b", options.bias, "bias, (C_out,)");
  app->add_option("--output,-o", options.output, "y, (B, C_out, H + TOP + BOTTOM - KH + 1, W + LEFT + RIGHT - KW + 1)")
      ->required();
  add_padding(app, options.problem);
  add_type_math_device(app, options.problem, "that of the input: float16 is f16, all other numbers f32");
  app->add_option("--repeat", options.repeat, "Runs to take the median time of. Default 1")
      ->check(CLI::Range(1, 1000000));
  app->footer(
      std::string("The .npy files may hold float16, float32, float64, integers or bool in any byte order and in C or\n"
                  "Fortran order; elements are rounded to --type once, and a message says so where a value changes.\n"
                  "bfloat16 as ml_dtypes writes it ('<V2') needs --type bf16. y is float32, float16, or for bf16\n"
                  "float32 that holds the bfloat16 values exactly.\n\n"
                  "Examples:\n"
                  "  hconv conv --input x.npy --weights w.npy --output y.npy\n"
                  "  hconv conv -i x.npy -w w.npy -b b.npy --pad same --type bf16 -o y.npy\n"
                  "  hconv conv -i x.npy -w w.npy --pad 1,1,2,2 --device cpu -o y.npy --json\n\n") +
      environment);
  return {app, [&options](const Output &output) { run_conv(options, output); }};
}

Command add_bench(CLI::App &main, BenchOptions &options) {
  CLI::App *app = main.add_subcommand("bench", "Check and time convolutions of random data");
  app->add_option("SHAPE", options.shapes, "B,C,H,W,KH,KW[,C_out[,top:bottom:left:right]]");
  app->add_option("--file", options.file, "File of shapes, one a line, # starts a comment; after those given as SHAPE");
  add_padding(app, options.problem);
  add_type_math_device(app, options.problem, "f32");
  add_layout(app, options.problem);
  app->add_option("--repeat", options.repeat, "Runs a shape. Default: about a second's worth, 3 to 50")
      ->check(CLI::Range(1, 1000000));
  app->footer(
      std::string(shape_help) +
      "First the answer is compared with a float64 reference: all outputs where that takes at most 2e8\n"
      "multiply-adds, otherwise a sample (column checked). A wrong answer is an error and is not timed.\n"
      "Data and packed weights are on the device before the clock starts; GFLOP/s count 2 B C_out OH OW C KH KW.\n\n"
      "Examples:\n"
      "  hconv bench 4,64,128,128,8,8 32,64,58,58,3,3\n"
      "  hconv bench --file shapes/perf.txt --type bf16 --device cuda --json\n"
      "  hconv bench 16,128,64,64,5,5,256 --pad same --repeat 20\n\n" +
      environment);
  return {app, [&options](const Output &output) { run_bench(options, output); }};
}

Command add_explain(CLI::App &main, ExplainOptions &options) {
  CLI::App *app =
      main.add_subcommand("explain", "Tell which variant would compute a shape, and why the others would not");
  app->add_option("SHAPE", options.shape, "B,C,H,W,KH,KW[,C_out[,top:bottom:left:right]]")->required();
  add_padding(app, options.problem);
  add_type_math_device(app, options.problem, "f32");
  add_layout(app, options.problem);
  app->footer(std::string(shape_help) + "\n" +
              "Examples:\n"
              "  hconv explain 4,64,128,128,8,8\n"
              "  hconv explain 1,3,512,512,7,7,64 --pad same --type f16 --device cuda --json\n\n" +
              environment);
  return {app, [&options](const Output &output) { run_explain(options, output); }};
}

Command add_list(CLI::App &main) {
  CLI::App *app = main.add_subcommand("list", "List all compiled variants with their parameters and resources");
  app->footer("Examples:\n  hconv list\n  hconv list --json");
  return {app, [](const Output &output) { run_list(output); }};
}

Command add_devices(CLI::App &main) {
  CLI::App *app = main.add_subcommand("devices", "List the devices that can be given to --device");
  app->footer("Examples:\n  hconv devices\n  hconv devices --json");
  return {app, [](const Output &output) { run_devices(output); }};
}

/** Runs a command and turns whatever it throws into a message and an exit code. */
int run_and_report(const std::string &name, const Command &command, const Output &output) {
  const auto report = [&](int code, const std::string &sentence, bool with_document) {
    std::cerr << name << ": " << sentence << std::endl;
    if (with_document) {
      output.document({{"error", {{"exit_code", code}, {"message", sentence}}}});
    }
    return code;
  };
  try {
    command.run(output);
    return EXIT_OK;
  } catch (const Reported &failure) {
    return report(failure.exit_code, failure.what(), false);
  } catch (const Failure &failure) {
    return report(failure.exit_code, failure.what(), true);
  } catch (const std::bad_alloc &) {
    return report(EXIT_DEVICE, "there is not enough memory on the host.", true);
  } catch (const std::exception &error) {
    return report(EXIT_DEVICE, std::string("a fault of hconv: ") + error.what(), true);
  }
}

int main_function(int argc, char **argv) {
  CLI::App main("hconv: stride-1 2-D convolution of float32, bfloat16 and float16, on CUDA and on the CPU");
  main.name("hconv");
  ConvOptions conv;
  BenchOptions bench;
  ExplainOptions explain;
  const std::vector<Command> commands = {add_conv(main, conv), add_bench(main, bench), add_explain(main, explain),
                                         add_list(main), add_devices(main)};
  bool json = false, version = false;
  main.add_flag("--version", version, "Print the version");
  main.add_flag("--json", json, "Print one JSON document on stdout");
  for (const Command &command : commands) {
    command.app->add_flag("--json", json, "Print one JSON document on stdout");
  }
  main.require_subcommand(0, 1);
  main.footer(std::string("Examples:\n"
                          "  hconv conv --input x.npy --weights w.npy --pad same --output y.npy\n"
                          "  hconv bench 4,64,128,128,8,8\n"
                          "  hconv explain 4,64,128,128,8,8 --json\n"
                          "  hconv conv --help\n\n") +
              environment + "\n" + exit_codes);

  std::string name = "hconv";
  const auto usage_error = [&](const std::string &sentence) {
    const Command failing = {nullptr, [&](const Output &) { throw Failure(EXIT_USAGE, sentence); }};
    const int code = run_and_report(name, failing, Output(json));
    std::cerr << "Run '" << name << " --help' for the arguments." << std::endl;
    return code;
  };
  try {
    // A command line that does not parse leaves the flags unset, and its message has to know.
    json = std::find(argv, argv + argc, std::string("--json")) != argv + argc;
    main.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    for (const CLI::App *app : main.get_subcommands()) {
      name = "hconv " + app->get_name();
    }
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return main.exit(error); // --help
    }
    if (const auto *extras = dynamic_cast<const CLI::ExtrasError *>(&error)) {
      const std::string text = extras->what(); // "...: foo bar"
      return usage_error("argument '" + text.substr(text.rfind(": ") + 2) + "' is unknown.");
    }
    return usage_error(std::string(error.what()) + ".");
  }
  if (version) {
    return run_and_report(name, {nullptr, run_version}, Output(json));
  }
  for (const Command &command : commands) {
    if (command.app->parsed()) {
      return run_and_report(name + " " + command.app->get_name(), command, Output(json));
    }
  }
  return usage_error("no command was given; expected conv, bench, explain, list or devices.");
}

} // namespace

} // namespace hconv::cli

int main(int argc, char **argv) {
  return hconv::cli::main_function(argc, argv);
}
