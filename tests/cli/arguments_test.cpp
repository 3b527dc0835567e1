#include "arguments.h"

#include "failure.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <functional>

using namespace hconv::cli;
using testing::AllOf;
using testing::HasSubstr;

namespace {

std::string failure_of(const std::function<void()> &action, int exit_code = EXIT_USAGE) {
  try {
    action();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.exit_code, exit_code);
    return failure.what();
  }
  return "accepted";
}

TEST(Arguments, Shapes) {
  const Shape six = parse_shape("4,64,128,127,8,7", "SHAPE");
  EXPECT_EQ(shape_token(six), "4,64,128,127,8,7,64");
  EXPECT_FALSE(six.padding.has_value());
  const Shape padded = parse_shape("1,2,3,4,5,6,7,8:9:10:11", "SHAPE");
  EXPECT_EQ(shape_token(padded), "1,2,3,4,5,6,7");
  ASSERT_TRUE(padded.padding.has_value());
  EXPECT_EQ(padded.padding->top, 8);
  EXPECT_EQ(padded.padding->bottom, 9);
  EXPECT_EQ(padded.padding->left, 10);
  EXPECT_EQ(padded.padding->right, 11);
  EXPECT_EQ(parse_shape("2147483647,0,1,1,1,1", "SHAPE").batch, 2147483647);
}

TEST(Arguments, BrokenShapesAreQuoted) {
  for (const char *text : {"", "1", "1,2,3,4,5", "1,2,3,4,5,6,7,8", "1,2,3,4,5,x", "1,2,3,4,5,-6", "1,2,3,4,5,6,",
                           ",1,2,3,4,5,6", "1, 2,3,4,5,6", "1,2,3,4,5,2147483648", "1,2,3,4,5,6,1:1:1:1",
                           "1,2,3,4,5,6,7,1:1:1", "1,2,3,4,5,6,7,1:1:1:1:1", "1:2", ":", "1.5,2,3,4,5,6"}) {
    EXPECT_THAT(failure_of([&] { parse_shape(text, "SHAPE"); }),
                AllOf(HasSubstr("SHAPE: '" + std::string(text) + "'"), HasSubstr("expected B,C,H,W,KH,KW")));
  }
}

TEST(Arguments, ShapeFiles) {
  const std::string path = testing::TempDir() + "hconv_cli_shapes.txt";
  std::ofstream(path) << "# heading\n\n1,2,3,4,5,6 # remark\n  7,8,9,10,1,2,3,1:1:0:0\r\n";
  const std::vector<Shape> shapes = read_shapes(path);
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shape_token(shapes[1]), "7,8,9,10,1,2,3");
  std::ofstream(path) << "1,2,3,4,5,6\n\n1,2,3\n";
  EXPECT_THAT(failure_of([&] { read_shapes(path); }), HasSubstr(path + ":3: '1,2,3'"));
  std::ofstream(path) << "# nothing\n";
  EXPECT_THAT(failure_of([&] { read_shapes(path); }), HasSubstr("holds no shape"));
  std::remove(path.c_str());
  EXPECT_THAT(failure_of([&] { read_shapes(path); }), AllOf(HasSubstr(path), HasSubstr("No such file")));
}

TEST(Arguments, Padding) {
  const auto sides = [](const hconv_padding &p) { return std::vector<int32_t>{p.top, p.bottom, p.left, p.right}; };
  EXPECT_EQ(sides(parse_padding("3", 1, 1)), (std::vector<int32_t>{3, 3, 3, 3}));
  EXPECT_EQ(sides(parse_padding("1,2,3,4", 1, 1)), (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(sides(parse_padding("same", 3, 8)), (std::vector<int32_t>{1, 1, 3, 4}));
  EXPECT_EQ(sides(parse_padding("same", 1, 0)), (std::vector<int32_t>{0, 0, 0, 0}));
  for (const char *text : {"", "1,2", "1,2,3", "-1", "same ", "valid", "1,2,3,4,5", "9999999999"}) {
    EXPECT_THAT(failure_of([&] { parse_padding(text, 3, 3); }), HasSubstr("--pad: '" + std::string(text) + "'"));
  }
}

TEST(Arguments, TypesAndMath) {
  for (const Type type : {Type::f32, Type::bf16, Type::f16}) {
    EXPECT_EQ(parse_type(type_name(type)), type);
  }
  EXPECT_THAT(failure_of([] { parse_type("float32"); }), HasSubstr("'float32' was given; expected f32, bf16 or f16"));
  for (const hconv_math math : {HCONV_MATH_FP32, HCONV_MATH_STRICT, HCONV_MATH_TF32}) {
    EXPECT_EQ(parse_math(math_name(math)), math);
  }
  EXPECT_THAT(failure_of([] { parse_math("FP32"); }), HasSubstr("'FP32' was given; expected fp32, strict or tf32"));
  EXPECT_EQ(dl_type(Type::bf16).code, kDLBfloat);
  EXPECT_EQ(dl_type(Type::f16).bits, 16);
}

TEST(Arguments, Devices) {
  EXPECT_EQ(device_token(select_device("cpu")), "cpu");
  EXPECT_EQ(device_token(select_device("cuda:3", false)), "cuda:3");
  for (const char *text : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1,2", "CPU", "cud", "cudaX"}) {
    EXPECT_THAT(failure_of([&] { select_device(text, false); }), HasSubstr("--device: '" + std::string(text) + "'"));
  }
  EXPECT_THAT(failure_of([] { select_device("cuda:2147483647"); }, EXIT_NO_DEVICE),
              HasSubstr("--device: 'cuda:2147483647'"));
}

TEST(Arguments, OperationsDoNotWrap) {
  const Shape shape = parse_shape("1048576,1048576,3,3,1024,1024,1048576", "SHAPE");
  const int64_t output[4] = {1048576, 1048576, 1024, 1024};
  EXPECT_EQ(operations(shape, output), 2.0 * std::pow(2.0, 20 + 20 + 10 + 10 + 20 + 10 + 10));
}

TEST(Failures, EveryStatusHasItsExitCode) {
  EXPECT_EQ(exit_code_of(HCONV_OK), 0);
  EXPECT_EQ(exit_code_of(HCONV_INVALID_ARGUMENT), 2);
  EXPECT_EQ(exit_code_of(HCONV_UNSUPPORTED), 3);
  EXPECT_EQ(exit_code_of(HCONV_NO_DEVICE), 4);
  for (const hconv_status status : {HCONV_OUT_OF_MEMORY, HCONV_DEVICE_ERROR, HCONV_INTERNAL_ERROR}) {
    EXPECT_EQ(exit_code_of(status), 5);
  }
}

TEST(Failures, TextsOfAnyLengthComeWhole) {
  const std::string wanted(100000, 'x');
  int calls = 0;
  const std::string text = text_of(
      [&](char *to, size_t *size) {
        ++calls;
        const size_t capacity = *size;
        *size = wanted.size() + 1;
        if (capacity < *size) {
          return HCONV_INVALID_ARGUMENT;
        }
        std::copy_n(wanted.c_str(), wanted.size() + 1, to);
        return HCONV_OK;
      },
      "asking");
  EXPECT_EQ(text, wanted);
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(
      failure_of([] { text_of([](char *, size_t *) { return HCONV_UNSUPPORTED; }, "asking"); }, EXIT_UNSUPPORTED),
      HasSubstr("asking: "));
}

} // namespace
