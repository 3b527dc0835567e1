#include "evaluate.h"

#include "child.h"
#include "codegen/cuda_expression.h"
#include "lower.h"
#include "process.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv_test {

namespace {

const char *const kProgram = R"(
#include "hconv_prelude.cuh"
#include <cstdio>
#include <vector>
namespace hconv { namespace twin { __thread ThreadState *current; } }

static std::vector<unsigned char> input, output;

template <typename T> T take(size_t at) {
  T value;
  memcpy(&value, &input[at], sizeof value);
  return value;
}

template <typename T> void give_one(const T &value) {
  unsigned char bytes[8] = {};
  memcpy(bytes, &value, sizeof value);
  output.insert(output.end(), bytes, bytes + 8);
}
template <typename T> void give(const T &value) { give_one(value); }
template <typename T, int N> void give(const hconv::vec<T, N> &value) {
  for (int i = 0; i < N; i++)
    give_one(value.lane[i]);
}
)";

const char *const kMain = R"(
int main(int, char **argv) {
  FILE *file = fopen(argv[1], "rb");
  for (int c; (c = fgetc(file)) != EOF;)
    input.push_back((unsigned char)c);
  fclose(file);
  run();
  fwrite(output.data(), 1, output.size(), stdout);
}
)";

/** Parameters of a function that takes one row of every column. */
std::string parameters(const std::vector<Column> &columns, int lanes) {
  std::string text;
  for (const Column &c : columns)
    text += (text.empty() ? "const " : ", const ") + hconv::cuda_type(c.type.with_lanes(lanes)) + " " + c.name;
  return text;
}

std::string program_of(const std::vector<Expr> &expressions, const std::vector<Column> &columns, int rows, int lanes) {
  std::ostringstream text;
  text << kProgram;
  for (size_t i = 0; i < expressions.size(); i++) {
    hconv::CudaExpression printer;
    const std::string type = hconv::cuda_type(expressions[i].type());
    const std::string printed = printer.text(expressions[i]);
    text << "static " << type << " e" << i << "(" << parameters(columns, lanes)
         << ") {\n  const auto value = " << printed << ";\n  static_assert(std::is_same_v<decltype(value), const "
         << type << ">, \"the text has another type\");\n  return value;\n}\n";
  }
  text << "static void run() {\n";
  for (size_t i = 0; i < expressions.size(); i++) {
    text << "  for (size_t row = 0; row < " << rows << "; row += " << lanes << ")\n    give(e" << i << "(";
    size_t start = 0;
    for (const Column &c : columns) {
      text << (start ? ", " : "") << "take<" << hconv::cuda_type(c.type.with_lanes(lanes)) << ">(" << start
           << " + row * " << c.type.bytes() << ")";
      start += size_t(rows) * size_t(c.type.bytes());
    }
    text << "));\n";
  }
  text << "}\n" << kMain;
  return text.str();
}

Results results_of(const std::string &bytes, size_t expressions, int rows) {
  Results results(expressions, std::vector<uint64_t>(size_t(rows)));
  EXPECT_EQ(bytes.size(), expressions * size_t(rows) * 8);
  if (bytes.size() == expressions * size_t(rows) * 8) {
    for (size_t i = 0; i < expressions; i++)
      std::memcpy(results[i].data(), bytes.data() + i * size_t(rows) * 8, size_t(rows) * 8);
  }
  return results;
}

/** Makes each variable a load from its column's buffer. */
class ReadColumns : public IRMutator {
public:
  ReadColumns(const std::map<std::string, ImageParam> &images, const Expr &row) : images(images), row(row) {}

private:
  const std::map<std::string, ImageParam> &images;
  const Expr row;
  using IRMutator::visit;
  std::multiset<std::string> bound;
  Expr visit(const Variable *op) override {
    const auto image = images.find(op->name);
    return image == images.end() || bound.count(op->name) ? Expr(op) : image->second(row);
  }
  Expr visit(const Let *op) override {
    Expr value = mutate(op->value);
    const auto at = bound.insert(op->name);
    Expr body = mutate(op->body);
    bound.erase(at);
    return Let::make(op->name, value, body);
  }
};

std::string halide_bytes(const std::vector<Expr> &expressions, const std::vector<Column> &columns, int rows) {
  std::map<std::string, ImageParam> images;
  for (const Column &c : columns) {
    Buffer<> data(c.type, {rows});
    for (int r = 0; r < rows; r++)
      std::memcpy(static_cast<char *>(data.data()) + r * c.type.bytes(), &c.values[size_t(r)], size_t(c.type.bytes()));
    ImageParam image(c.type, 1);
    image.set(data);
    images[c.name] = image;
  }
  std::string bytes;
  Var row("row");
  const size_t chunk = 64;
  for (size_t start = 0; start < expressions.size(); start += chunk) {
    std::vector<Expr> values;
    for (size_t i = start; i < std::min(start + chunk, expressions.size()); i++)
      values.push_back(ReadColumns(images, row).mutate(expressions[i]));
    Func table("table");
    if (values.size() == 1)
      table(row) = values[0];
    else
      table(row) = Tuple(values);
    // Plain x86-64: with FMA instructions LLVM would contract, strict or not.
    const Target target(Target::Linux, Target::X86, 64,
                        {Target::JIT, Target::SSE41, Target::StrictFloat, Target::NoAsserts, Target::NoBoundsQuery});
    Realization realized = table.realize({rows}, target);
    for (size_t i = 0; i < values.size(); i++) {
      const int size = values[i].type().bytes();
      for (int r = 0; r < rows; r++) {
        char value[8] = {};
        std::memcpy(value, static_cast<const char *>(realized[i].data()) + r * size, size_t(size));
        bytes.append(value, 8);
      }
    }
  }
  return bytes;
}

bool is_nan(uint64_t bits, Type type) {
  if (type == Float(64))
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  if (type == Float(32))
    return (bits & 0x7fffffff) > 0x7f800000;
  if (type == Float(16))
    return (bits & 0x7fff) > 0x7c00;
  return type == BFloat(16) && (bits & 0x7fff) > 0x7f80;
}

} // namespace

Results evaluate_printed(const std::vector<Expr> &expressions, const std::vector<Column> &columns, int rows,
                         int lanes) {
  const std::string program = text_of([&] { return program_of(expressions, columns, rows, lanes); });
  std::string input;
  for (const Column &c : columns) {
    for (const uint64_t value : c.values)
      input.append(reinterpret_cast<const char *>(&value), size_t(c.type.bytes()));
  }
  const Folder folder("hconv_expressions");
  write_file(folder.path("program.cpp"), program);
  write_file(folder.path("input"), input);
  const Ended compiled = run_host_compiler({"-O0", "-ffp-contract=off", "-Wall", "-Wno-parentheses",
                                            "-Wno-tautological-compare", "-Wno-int-in-bool-context", "-Werror",
                                            folder.path("program.cpp"), "-o", folder.path("program")});
  EXPECT_EQ(compiled.status, 0) << compiled.output.substr(0, 8000);
  if (compiled.status != 0)
    return results_of("", 0, rows);
  const Ended ran = run_program({folder.path("program"), folder.path("input")});
  EXPECT_EQ(ran.status, 0);
  return results_of(ran.output, expressions.size(), rows);
}

Results evaluate_halide(const std::vector<Expr> &expressions, const std::vector<Column> &columns, int rows) {
  return results_of(text_of([&] { return halide_bytes(expressions, columns, rows); }), expressions.size(), rows);
}

std::string differences(const std::vector<Expr> &expressions, const std::vector<Column> &columns,
                        const Results &printed, const Results &halide) {
  std::ostringstream out;
  int shown = 0;
  if (printed.size() != expressions.size() || halide.size() != expressions.size())
    return "no results";
  for (size_t i = 0; i < expressions.size(); i++) {
    const Type type = expressions[i].type().element_of();
    for (size_t row = 0; row < printed[i].size(); row++) {
      const uint64_t a = printed[i][row], b = halide[i][row];
      if (a == b || (is_nan(a, type) && is_nan(b, type)))
        continue;
      if (++shown > 5)
        return out.str() + "...\n";
      out << expressions[i] << " of type " << type << " in row " << row << ": printed " << std::hex << a << ", Halide "
          << b << std::dec << "; with";
      for (const Column &c : columns)
        out << " " << c.name << "=" << std::hex << c.values[row] << std::dec;
      out << "\n  printed as " << text_of([&] { return hconv::CudaExpression().text(expressions[i]); }) << "\n";
      break;
    }
  }
  return out.str();
}

} // namespace hconv_test
