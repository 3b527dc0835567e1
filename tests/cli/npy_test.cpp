#include "npy_file.h"

#include <gmock/gmock.h>

#include <random>

using namespace hconv::cli;
using namespace hconv_test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const std::string six_floats(24, 'd');

TEST(Npy, ReadsEveryVersion) {
  for (const int major : {1, 2, 3}) {
    const NpyArray array = read(npy_file(major, header_of("<f4", "False", "(2, 3)"), six_floats));
    EXPECT_EQ(array.kind, 'f');
    EXPECT_EQ(array.item_bytes, 4);
    EXPECT_FALSE(array.big_endian);
    EXPECT_FALSE(array.fortran_order);
    EXPECT_THAT(array.shape, ElementsAre(2, 3));
    EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), six_floats);
  }
}

TEST(Npy, ReadsEveryElementType) {
  const struct {
    const char *descr;
    char kind;
    int bytes;
    bool big;
  } cases[] = {{"<f2", 'f', 2, false}, {">f2", 'f', 2, true},  {"<f8", 'f', 8, false}, {"=f4", 'f', 4, false},
               {"|i1", 'i', 1, false}, {"|u1", 'u', 1, false}, {"|b1", 'b', 1, false}, {">i2", 'i', 2, true},
               {"<u8", 'u', 8, false}, {"|V2", 'V', 2, false}, {"<V2", 'V', 2, false}, {"V2", 'V', 2, false}};
  for (const auto &c : cases) {
    const NpyArray array =
        read(npy_file(1, header_of(c.descr, "True", "(1,)"), std::string(static_cast<size_t>(c.bytes), 1)));
    EXPECT_EQ(array.kind, c.kind) << c.descr;
    EXPECT_EQ(array.item_bytes, c.bytes) << c.descr;
    EXPECT_EQ(array.big_endian, c.big) << c.descr;
    EXPECT_TRUE(array.fortran_order) << c.descr;
  }
}

TEST(Npy, ReadsEveryRankAndSpelling) {
  EXPECT_TRUE(read(npy_file(1, header_of("<f4", "False", "()"), "1234")).shape.empty());
  EXPECT_THAT(read(npy_file(1, header_of("<f4", "False", "(6L,)"), six_floats)).shape, ElementsAre(6));
  EXPECT_THAT(read(npy_file(1, header_of("<f4", "False", "(0, 7)"), "")).shape, ElementsAre(0, 7));
  EXPECT_THAT(read(npy_file(1, "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", six_floats)).shape,
              ElementsAre(2, 3));
}

TEST(Npy, IgnoresWhatFollowsTheArray) {
  EXPECT_EQ(read(npy_file(1, header_of("<f4", "False", "(6,)"), six_floats + "more")).bytes.size(), 24u);
}

TEST(Npy, RefusesEveryPrefixOfAFile) {
  for (const int major : {1, 3}) {
    const std::string file = npy_file(major, header_of("<f4", "False", "(2, 3)"), six_floats);
    for (size_t length = 0; length < file.size(); ++length) {
      EXPECT_THAT(failure_of(file.substr(0, length)), StartsWith("2 file.npy: ")) << length;
    }
  }
}

TEST(Npy, SaysHowManyBytesAreMissing) {
  EXPECT_THAT(failure_of(npy_file(1, header_of("<f4", "False", "(2, 3)"), six_floats.substr(1))),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("'<f4'"), HasSubstr("23 bytes found, expected 24")));
  EXPECT_THAT(failure_of(std::string("\x93NUMPY\x01\0", 8) + "\x40"), HasSubstr("1 bytes found, expected 2"));
}

TEST(Npy, RefusesOtherFiles) {
  EXPECT_THAT(failure_of("PK\x03\x04 an npz archive"), HasSubstr("not a .npy file"));
  EXPECT_THAT(failure_of(npy_file(4, header_of("<f4", "False", "(6,)"), six_floats)),
              AllOf(StartsWith("3 "), HasSubstr("version 4.0")));
}

TEST(Npy, RefusesElementTypesByName) {
  for (const char *descr : {"<c8", "|O", "<U4", "|S3", "<f16", "<M8[ns]", "f4", "|f4", "<V3", ">V2", "", "<", "<f44"}) {
    EXPECT_THAT(failure_of(npy_file(1, header_of(descr, "False", "(1,)"), std::string(64, 0))),
                AllOf(StartsWith("3 file.npy: element type"), HasSubstr("'" + std::string(descr) + "'")));
  }
  EXPECT_THAT(failure_of(npy_file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
              AllOf(StartsWith("3 "), HasSubstr("structured")));
}

TEST(Npy, RefusesBrokenHeaders) {
  const std::string good = "'descr': '<f4', 'fortran_order': False";
  const struct {
    std::string header;
    const char *says;
  } cases[] = {{"", "expected '{'"},
               {"[]", "expected '{'"},
               {"{" + good + "}", "'shape' is missing"},
               {"{'shape': (6,)}", "'descr' is missing"},
               {"{'descr': '<f4', 'shape': (6,)}", "'fortran_order' is missing"},
               {"{" + good + ", 'shape': (6,), 'shape': (6,)}", "'shape' is unknown or repeated"},
               {"{" + good + ", 'shape': (6,), 'x': 1}", "'x' is unknown or repeated"},
               {"{" + good + ", 'shape': (6)}", "not a tuple"},
               {"{" + good + ", 'shape': (-6,)}", "found_minus"},
               {"{" + good + ", 'shape': (2 3)}", "expected ')'"},
               {"{" + good + ", 'shape': (,)}", "an extent of at least 0"},
               {"{" + good + ", 'shape': (6.0,)}", "expected"},
               {"{" + good + ", 'shape': (99999999999999999999,)}", "2^63"},
               {"{" + good + ", 'shape': (4294967296, 4294967296)}", "too many elements"},
               {"{" + good + ", 'shape': (0, 4294967296, 4294967296)}", "too many elements"},
               {"{" + good + ", 'shape': (6,)} x", "text follows"},
               {"{" + good + ", 'shape': (6,)", "the header ends"},
               {"{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", "True or False"},
               {"{'descr': '<f4", "closing quote"},
               {"{'de\\x41scr': '<f4'}", "closing quote"},
               {std::string("{'d\x01': '<f4'}"), "unprintable"},
               {std::string(1, '\xff'), "byte 255"}};
  for (const auto &c : cases) {
    const std::string says = std::string(c.says) == "found_minus" ? "'-'; expected an extent" : c.says;
    EXPECT_THAT(failure_of(npy_file(1, c.header, six_floats)),
                AllOf(StartsWith("2 file.npy: broken .npy header at byte "), HasSubstr(says)))
        << c.header;
  }
  std::string deep = "{" + good + ", 'shape': (";
  for (int i = 0; i < 65; ++i) {
    deep += "1, ";
  }
  EXPECT_THAT(failure_of(npy_file(1, deep + ")}", six_floats)), HasSubstr("64 dimensions"));
}

TEST(Npy, HugeClaimsTakeNoMemory) {
  // 2^40 elements, of which 24 bytes are there: refused for what is missing, not by running out of memory.
  EXPECT_THAT(failure_of(npy_file(1, header_of("<f8", "False", "(1048576, 1048576)"), six_floats)),
              HasSubstr("24 bytes found, expected 8796093022208"));
  EXPECT_THAT(failure_of(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12) + "{"),
              HasSubstr("claims 4294967295 bytes"));
  EXPECT_THAT(
      failure_of(npy_file(2, header_of("<f4", "False", "(6,)") + std::string(npy_header_limit, ' '), six_floats)),
      HasSubstr("expected at most 1048576"));
  EXPECT_EQ(failure_of(npy_file(2, header_of("<f4", "False", "(6,)") + std::string(100000, ' '), six_floats)), "read");
}

/** Changes a text in one place: cuts it there, inserts, erases or overwrites. */
void mutate(std::string &text, std::mt19937 &random) {
  static const std::string interesting = "'\"{}()[],:<>|=LTrueFalse0123456789fiubV \n\\\x93\xff";
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  if (text.empty()) {
    return;
  }
  const size_t at = below(text.size());
  switch (below(9)) {
  case 0:
    text.resize(at);
    break;
  case 1:
  case 2:
    text.insert(at, 1, interesting[below(interesting.size())]);
    break;
  case 3:
  case 4:
    text.erase(at, 1 + below(3));
    break;
  case 5:
    text[at] = static_cast<char>(random());
    break;
  default:
    text[at] = interesting[below(interesting.size())];
  }
}

/** Mutated files are read whole or refused with a sentence; what is read is consistent. */
TEST(Npy, SurvivesMutations) {
  std::mt19937 random(20240817);
  int read_count = 0, refused_count = 0;
  for (int round = 0; round < 50000; ++round) {
    // Half of the files have a broken header of the right length, half are broken anywhere.
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n";
    const size_t mutations = 1 + random() % 3;
    const bool only_header = random() % 2 == 0;
    for (size_t i = 0; only_header && i < mutations; ++i) {
      mutate(header, random);
    }
    std::string file = npy_file(1 + static_cast<int>(random() % 3), header, six_floats + six_floats);
    for (size_t i = 0; !only_header && i < mutations; ++i) {
      mutate(file, random);
    }
    try {
      const NpyArray array = read(file);
      ++read_count;
      ASSERT_EQ(array.bytes.size(), static_cast<size_t>(array.elements() * array.item_bytes));
      ASSERT_LE(array.bytes.size(), file.size());
      ASSERT_NE(std::string("fiubV").find(array.kind), std::string::npos);
    } catch (const Failure &failure) {
      ++refused_count;
      ASSERT_THAT(failure.what(), StartsWith("file.npy: "));
      ASSERT_TRUE(failure.exit_code == EXIT_USAGE || failure.exit_code == EXIT_UNSUPPORTED);
    }
  }
  // Both sides of the fence were visited.
  EXPECT_GT(read_count, 5000);
  EXPECT_GT(refused_count, 5000);
}

TEST(Npy, WritesWhatItReads) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{}, {6}, {2, 3}, {0, 3}, {1, 1, 2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6}}) {
    std::ostringstream stream;
    NpyArray wanted;
    wanted.shape = shape;
    const size_t bytes = static_cast<size_t>(wanted.elements()) * 4;
    write_npy(stream, "out.npy", "<f4", shape, six_floats.data(), bytes);
    const std::string file = stream.str();
    EXPECT_EQ((file.size() - bytes) % 64, 0u) << "data must start at a multiple of 64";
    EXPECT_EQ(file[file.size() - bytes - 1], '\n');
    const NpyArray array = read(file);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.descr, "<f4");
    EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), six_floats.substr(0, bytes));
  }
}

TEST(Npy, ReportsAFailedWrite) {
  std::ostringstream stream;
  stream.setstate(std::ios::badbit);
  EXPECT_THROW(write_npy(stream, "out.npy", "<f4", {6}, six_floats.data(), 24), Failure);
}

} // namespace
