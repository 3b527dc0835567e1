/** Golden files: tests/codegen/golden/<Suite>.<Test>.<extension>. */
#pragma once

#include <string>

namespace hconv_test {

/** Compares a text with the golden file of the current test. A file that is missing is a failure. With
 * HCONV_UPDATE_GOLDEN=1 in the environment the file is written instead: look at the difference before you commit it. */
void expect_golden(const std::string &text, const std::string &extension = "txt");

/** The folder of the golden files. */
std::string golden_folder();

} // namespace hconv_test
