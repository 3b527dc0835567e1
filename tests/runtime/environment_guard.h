// Sets an environment variable for a scope and has hconv read its environment again.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "runtime/environment.h"

namespace hconv_test {

class EnvironmentGuard {
public:
  EnvironmentGuard(const char *name, const char *value) : name_(name) {
    if (const char *old = std::getenv(name))
      old_ = old;
    setenv(name, value, 1);
    hconv::runtime::reload_environment();
  }
  ~EnvironmentGuard() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
    hconv::runtime::reload_environment();
  }
  EnvironmentGuard(const EnvironmentGuard &) = delete;
  EnvironmentGuard &operator=(const EnvironmentGuard &) = delete;

private:
  const char *name_;
  std::optional<std::string> old_;
};

} // namespace hconv_test
