// Contexts are the caller's: the current one is used where it fits, and always left as it was.
#pragma once

#include "cuda/driver.h"

namespace hconv::runtime::cuda {

/// A context that lives on device `ordinal`.
struct ContextRef {
  Context handle = nullptr;
  unsigned long long id = 0; ///< unique for the life of the process, unlike the handle
  int ordinal = 0;
  bool retained = false; ///< it is the primary context, and a reference is held
};

/// The thread's current context if it is one of device `ordinal`, else that device's primary context, retained.
hconv_status acquire_context(int ordinal, ContextRef *context);

/// Gives back what acquire_context retained. Never fails: at process exit the driver may be gone already.
void release_context(ContextRef *context);

/// The id of the context that acquire_context would find current; 0 where it would take the primary one.
unsigned long long current_context_id(int ordinal);

/// Makes a context current for a scope. One driver call if it is current already.
class ContextScope {
public:
  explicit ContextScope(Context context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  Result result() const { return result_; }

private:
  bool pushed_ = false;
  Result result_ = success;
};

} // namespace hconv::runtime::cuda
