/** Evaluates expressions in two ways: as the C++ that the printer makes of them, and by Halide. */
#pragma once

#include "Halide.h"
#include <string>
#include <vector>

namespace hconv_test {

/** A variable and its values; Halide expressions name it as Variable::make(type, name). */
struct Column {
  std::string name;
  Halide::Type type;            // scalar
  std::vector<uint64_t> values; // the value's bytes, zero extended
};

/** A table of results: values[expression][row], bytes zero extended. */
using Results = std::vector<std::vector<uint64_t>>;

/** What the printed expressions give, compiled as C++ with the host twin. All expressions have `lanes` lanes, and so
 * have their variables; the rows are taken `lanes` at a time. Each text must also have exactly the C++ type that
 * cuda_type gives the expression's type. Texts are printed in a child (child.h); a compile error is a failure of the
 * test. */
Results evaluate_printed(const std::vector<Halide::Expr> &expressions, const std::vector<Column> &columns, int rows,
                         int lanes = 1);

/** What Halide's own just-in-time compiler gives for scalar expressions, with strict floating point. */
Results evaluate_halide(const std::vector<Halide::Expr> &expressions, const std::vector<Column> &columns, int rows);

/** The first rows in which two results differ, as text; "" when there are none. A NaN equals any NaN. */
std::string differences(const std::vector<Halide::Expr> &expressions, const std::vector<Column> &columns,
                        const Results &printed, const Results &halide);

} // namespace hconv_test
