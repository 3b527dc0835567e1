/** kernel_arrays: the arrays of a kernel's body, what a statement does with them, and accesses to them as IR. */
#pragma once

#include "kernel.h"
#include <set>

namespace hconv {

/** Contract: all of this speaks of a body after vector_access, where an array is a name that Allocates bind once, an
 * access is a scalar Load or Store, or a call with the address of one (kAddressOf), and barriers are Halide's
 * gpu_thread_barrier. Sizes are constant and count elements. */
struct KernelArrays {
  struct Array {
    Halide::Type type;
    int64_t size;
  };
  std::map<std::string, Array> shared;         // of a size that copies of it can be laid side by side with
  std::map<std::string, Array> private_floats; // the float32 ones of each thread
};
KernelArrays arrays_of(const Halide::Internal::Stmt &body);

/** Elements from one copy of a shared array to the next: vector_access counts on arrays that start at multiples of 16
 * bytes. */
int64_t copy_size(const Halide::Internal::Allocate *array);

/** Which arrays a statement reads and writes, and whether it holds a barrier. */
struct Uses {
  std::set<std::string> read, written;
  bool barriers = false;
};
Uses uses_of(const Halide::Internal::Stmt &s);

/** Whether the value of an expression depends on nothing but its variables: on no memory and no impure call. */
bool reads_nothing(const Halide::Expr &e);

/** Arrays with a store of the form a[i] = ... a[i] ... */
std::set<std::string> arrays_added_to(const Halide::Internal::Stmt &s);

/** s with some arrays' accesses renamed. */
Halide::Internal::Stmt rename_arrays(const Halide::Internal::Stmt &s, const std::map<std::string, std::string> &names);

/** Names and values that a statement sees, outermost first. */
using Lets = std::vector<std::pair<std::string, Halide::Expr>>;

Halide::Expr load(const Halide::Type &type, const std::string &array, const Halide::Expr &index);
Halide::Internal::Stmt store(const std::string &array, const Halide::Expr &value, const Halide::Expr &index);
Halide::Expr address(const Halide::Type &type, const std::string &array, const Halide::Expr &index);
Halide::Internal::Stmt call_statement(const std::string &name, const std::vector<Halide::Expr> &args);
Halide::Internal::Stmt barrier();
bool is_barrier(const Halide::Internal::Stmt &s);

} // namespace hconv
