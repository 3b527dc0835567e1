#ifndef HCONV_CLI_NPY_HEADER_H
#define HCONV_CLI_NPY_HEADER_H

#include "npy.h"

namespace hconv::cli {

/** Parses the header of a .npy file, a Python dictionary such as
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 * into every field of NpyArray but its bytes. Exactly these three keys are accepted, in any order, as numpy does.
 * Throws Failure as read_npy does, with the position in the header. */
NpyArray parse_npy_header(const std::string &header, const std::string &name);

} // namespace hconv::cli
#endif
