// HCONV_LOG, HCONV_LOG_FILE and HCONV_DEVICE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "environment_guard.h"
#include "runtime/error.h"
#include "tensor.h"

namespace {

using namespace hconv_test;
using testing::HasSubstr;
using testing::Not;

/// A file that is removed with its scope.
struct LogFile {
  LogFile() { std::remove(path.c_str()); }
  ~LogFile() { std::remove(path.c_str()); }
  std::string content() const {
    std::ifstream file(path);
    std::stringstream stream;
    stream << file.rdbuf();
    return stream.str();
  }
  const std::string path =
      testing::TempDir() + "hconv_log_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
};

void plan_and_fail() {
  PlanHolder good(small_problem());
  hconv_problem p = small_problem();
  p.width = 0;
  PlanHolder bad(p);
}

TEST(Log, InfoTellsPlansAndErrors) {
  LogFile file;
  EnvironmentGuard level("HCONV_LOG", "info"), path("HCONV_LOG_FILE", file.path.c_str());
  plan_and_fail();
  EXPECT_THAT(file.content(), HasSubstr("hconv info: plan: float32 B2 IC3 OC4 H5 W6 KH2 KW3 pad 0,0,0,0 cpu fp32 -> "));
  EXPECT_THAT(file.content(), HasSubstr("hconv error: invalid argument: The width W is 0; expected at least 1.\n"));
}

TEST(Log, ErrorTellsErrorsOnly) {
  LogFile file;
  EnvironmentGuard level("HCONV_LOG", "error"), path("HCONV_LOG_FILE", file.path.c_str());
  plan_and_fail();
  EXPECT_THAT(file.content(), HasSubstr("hconv error: "));
  EXPECT_THAT(file.content(), Not(HasSubstr("hconv info: ")));
}

TEST(Log, AFileAloneAsksForInfo) {
  LogFile file;
  EnvironmentGuard path("HCONV_LOG_FILE", file.path.c_str());
  plan_and_fail();
  EXPECT_THAT(file.content(), HasSubstr("hconv info: plan: "));
}

TEST(Log, IsSilentByDefault) {
  testing::internal::CaptureStderr();
  plan_and_fail();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Log, GoesToStderrWhereTheFileCannotBeWritten) {
  EnvironmentGuard level("HCONV_LOG", "info"), path("HCONV_LOG_FILE", "/no/such/folder/log.txt");
  testing::internal::CaptureStderr();
  plan_and_fail();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("hconv info: plan: "));
}

TEST(DefaultDevice, ByEnvironment) {
  EnvironmentGuard wanted("HCONV_DEVICE", "gpu");
  DLDevice device = cpu;
  EXPECT_EQ(hconv_default_device(&device), HCONV_INVALID_ARGUMENT);
  EXPECT_STREQ(hconv_last_error(), "HCONV_DEVICE is 'gpu'; expected 'cpu' or 'cuda'.");
  EXPECT_EQ(hconv_default_device(nullptr), HCONV_INVALID_ARGUMENT);
}

TEST(Errors, EveryStatusHasAText) {
  for (int status = HCONV_OK; status <= HCONV_INTERNAL_ERROR; ++status)
    EXPECT_STRNE(hconv_status_text(static_cast<hconv_status>(status)), "unknown status");
  EXPECT_STREQ(hconv_version(), "0.1.0");
}

TEST(Errors, NoExceptionLeavesTheApi) {
  using hconv::runtime::guarded;
  EXPECT_EQ(guarded([]() -> hconv_status { throw std::bad_alloc(); }), HCONV_OUT_OF_MEMORY);
  EXPECT_STREQ(hconv_last_error(), "The host has no memory left for hconv's own bookkeeping.");
  EXPECT_EQ(guarded([]() -> hconv_status { throw std::runtime_error("a fault"); }), HCONV_INTERNAL_ERROR);
  EXPECT_STREQ(hconv_last_error(), "hconv met an unexpected C++ exception: a fault.");
  EXPECT_EQ(guarded([]() -> hconv_status { throw 7; }), HCONV_INTERNAL_ERROR);
}

TEST(Errors, ASentenceThatIsTooLongIsCut) {
  EXPECT_EQ(hconv::runtime::fail(HCONV_UNSUPPORTED, "%s", std::string(5000, 'x').c_str()), HCONV_UNSUPPORTED);
  EXPECT_EQ(std::strlen(hconv_last_error()), 1023u);
}

} // namespace
