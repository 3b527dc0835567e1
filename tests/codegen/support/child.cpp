#include "child.h"

#include "Halide.h"
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hconv_test {

namespace {

void write_all(int file, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n <= 0)
      _exit(1);
    done += size_t(n);
  }
}

/** Sends the first error to the parent and ends the child. */
class Reporter : public Halide::CompileTimeErrorReporter {
public:
  explicit Reporter(int file) : file(file) {}
  void warning(const char *) override {}
  [[noreturn]] void error(const char *message) override {
    write_all(file, std::string("E") + message);
    _exit(0);
  }

private:
  int file;
};

[[noreturn]] void answer(int file, const std::function<std::string()> &question) {
  Reporter reporter(file);
  Halide::set_custom_compile_time_error_reporter(&reporter);
  try {
    write_all(file, "T" + question());
  } catch (const std::exception &e) {
    write_all(file, std::string("Eexception: ") + e.what());
  }
  _exit(0);
}

} // namespace

Answer ask(const std::function<std::string()> &question) {
  int ends[2];
  if (pipe(ends) != 0)
    return {"", std::string("pipe: ") + strerror(errno)};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    answer(ends[1], question);
  }
  close(ends[1]);
  std::string all;
  char buffer[65536];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    all.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return {"", std::string("ended by ") + strsignal(WTERMSIG(status))};
  if (all.empty())
    return {"", "ended without an answer"};
  const std::string rest = all.substr(1);
  return all[0] == 'T' ? Answer{rest, ""} : Answer{"", rest};
}

std::string text_of(const std::function<std::string()> &question) {
  const Answer a = ask(question);
  EXPECT_EQ(a.error, "");
  return a.text;
}

std::string refusal_of(const std::function<std::string()> &question) {
  const Answer a = ask(question);
  EXPECT_NE(a.error, "") << "was not refused; the result is\n" << a.text;
  for (const char *other : {"Internal Error", "internal error", "exception: ", "ended "})
    EXPECT_EQ(a.error.find(other), std::string::npos) << "not a compile error: " << a.error;
  return a.error;
}

} // namespace hconv_test
