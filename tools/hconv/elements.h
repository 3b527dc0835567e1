#ifndef HCONV_CLI_ELEMENTS_H
#define HCONV_CLI_ELEMENTS_H

#include "npy.h"

#include <hconv/hconv.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hconv::cli {

/** Element type of a convolution. */
enum class Type { f32, bf16, f16 };

const char *type_name(Type type); ///< "f32", "bf16" or "f16"
int type_bytes(Type type);        ///< 4, 2 or 2
DLDataType dl_type(Type type);    ///< as DLPack spells it
double type_roundoff(Type type);  ///< unit roundoff: half the distance from 1 to the next larger number
double type_smallest(Type type);  ///< the smallest positive (subnormal) number

/** The number nearest to `value` among those of `type`, ties to even, one rounding; its bits in the low bytes. A finite
 * value past the largest number becomes infinity, as IEEE 754 has it; NaN stays NaN. */
uint32_t round_to_bits(double value, Type type);

/** The exact value of an element. */
double value_of_bits(uint32_t bits, Type type);

/** Element `i` of an array of `type`. */
double load_element(const void *array, int64_t i, Type type);

/** The type that an array asks for when --type does not say: float16 stays, all other numbers become float32.
 * Throws Failure (EXIT_USAGE) for raw 2-byte elements, which need --type bf16. */
Type default_type(const NpyArray &array, const std::string &name);

/** The array in C order with elements of `type`, each rounded once. float16 to f16, float32 to f32 and raw bfloat16 to
 * bf16 keep every bit. Appends a sentence to `notes` when a value changed, another when finite values became infinite.
 * Throws Failure (EXIT_USAGE) for raw 2-byte elements unless type is bf16. */
std::vector<unsigned char> convert(const NpyArray &array, Type type, const std::string &name,
                                   std::vector<std::string> &notes);

/** An output in the form that numpy can read: float32 and float16 as they are, bfloat16 as float32 (exact).
 * Sets `descr` to the .npy element type. */
std::vector<unsigned char> to_npy_elements(const std::vector<unsigned char> &data, Type type, std::string &descr);

} // namespace hconv::cli
#endif
