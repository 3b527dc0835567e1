"""Reads the variant manifest (schedules/variants.txt) and writes what the build is made from.

    python3 manifest.py schedules/variants.txt OUT_DIR

A manifest line is `algorithm types target key=value ...`, `#` starts a comment. Every element type of a line gives one
variant, which is one compiled function, or several of one name with suffixes (transform: NAME_input, NAME_weights,
NAME_output). OUT_DIR receives variants.cmake (a call of hconv_variant(...) a function), variants.inc (X-macro rows for
the C++ table) and variants.json. A file whose content would not change is not touched, so nothing that depends on it is rebuilt.
A line that is not understood ends the run with `file:line: sentence`.
"""

import argparse
import json
import math
import os
import sys

# In the order of the HCONV_VARIANT macro's arguments.
KEYS = ("tile_oc", "tile_ow", "tile_oh", "thread_oc", "thread_ow", "ic", "kw_tile", "kw", "stages", "warps",
        "min_blocks", "thread_oh", "kh_tile", "unroll_ic", "fft_h", "fft_w", "products", "sum_ic", "layout", "store_bytes",
        "split", "a_shared")
# Filled in where a line leaves out a key that its algorithm knows.
DEFAULTS = {"tile_oh": 1, "min_blocks": 1, "thread_oh": 1, "kh_tile": 1, "unroll_ic": 1, "products": 4, "sum_ic": 0,
            "layout": 0, "store_bytes": 2}
# Values that a name does not mention.
UNNAMED = {**DEFAULTS, "kw_tile": 4}
ZERO_ALLOWED = {"kw", "sum_ic"}

LAYOUTS = ("nchw", "nhwc")  # of x and y; a number in the table

FLOAT_TYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}
BIT_TYPES = {"b32": 32, "b16": 16}

_CPU = "x86-64-linux"
_AVX2 = "avx-avx2-f16c-fma-sse41"
_AHEAD_OF_TIME = "user_context-no_runtime-no_bounds_query"
_CUDA = f"{_CPU}-cuda-cuda_capability_80"
HALIDE_TARGETS = {
    "cuda": f"{_CUDA}-{_AHEAD_OF_TIME}",
    "cpu": f"{_CPU}-sse41-{_AHEAD_OF_TIME}",
    "cpu_baseline": f"{_CPU}-sse41-{_AHEAD_OF_TIME}",
    "cpu_avx2": f"{_CPU}-{_AVX2}-{_AHEAD_OF_TIME}",
    "cpu_avx512": f"{_CPU}-{_AVX2}-avx512-avx512_skylake-{_AHEAD_OF_TIME}",
    "halide_ptx": f"{_CUDA}-user_context-no_runtime",
}
CPU_TARGETS = ("cpu_baseline", "cpu_avx2", "cpu_avx512")

_BLOCK_KEYS = ("tile_oc", "tile_ow", "thread_oc", "thread_ow", "ic", "kw_tile", "stages", "warps")
_PRODUCT_KEYS = tuple(key for key in _BLOCK_KEYS if key != "kw_tile")
_CPU_KEYS = ("tile_oc", "tile_ow", "ic")
_FFT_KEYS = ("fft_h", "fft_w")
_CONVOLUTION_KEYS = tuple(key for key in KEYS if key not in (*_FFT_KEYS, "products", "sum_ic", "layout", "store_bytes",
                                                                "a_shared"))
_TENSOR_CORE_KEYS = (*_CONVOLUTION_KEYS, "layout", "store_bytes")


class Algorithm:
    """What a line of one algorithm may and must say."""

    def __init__(self, generators, types, required, allowed=(), tile_owner=None):
        self.generators = generators  # suffix of the function's name -> registered name of its Halide generator
        self.types = types            # allowed element types
        self.required = required      # target -> keys that must be there; its keys are the allowed targets
        self.allowed = allowed        # keys that may be there
        self.tile_owner = tile_owner  # who computes a tile of thread_oc x thread_oh x thread_ow; None: there is none


ALGORITHMS = {
    "pack": Algorithm({"": "pack_weights"}, tuple(BIT_TYPES), {"cuda": (), "cpu": ()}),
    "pack_input": Algorithm({"": "pack_input"}, ("b16",), {"cuda": ()}, ("layout",)),
    "transpose": Algorithm({"": "transpose"}, tuple(BIT_TYPES), {"cuda": (), "cpu": ()}),
    "sum_parts": Algorithm({"": "sum_parts"}, tuple(FLOAT_TYPES), {"cuda": ()}),
    "direct": Algorithm({"": "conv2d_direct"}, tuple(FLOAT_TYPES), {
        "cuda": _BLOCK_KEYS,
        "halide_ptx": _BLOCK_KEYS,
        **{target: _CPU_KEYS for target in CPU_TARGETS},
    }, _CONVOLUTION_KEYS, tile_owner="thread"),
    "mma": Algorithm({"": "conv2d_mma"}, ("bf16", "f16"), {"cuda": _BLOCK_KEYS}, _TENSOR_CORE_KEYS, tile_owner="warp"),
    "wgmma": Algorithm({"": "conv2d_wgmma"}, ("bf16", "f16"), {"cuda": _BLOCK_KEYS}, (*_TENSOR_CORE_KEYS, "a_shared"),
                       tile_owner="warp"),
    "transform": Algorithm(
        {"_input": "spectrum_input", "_weights": "spectrum_weights", "_output": "spectrum_output"}, tuple(FLOAT_TYPES),
        {target: _FFT_KEYS for target in ("cuda", *CPU_TARGETS)}, _FFT_KEYS),
    "spectral_product": Algorithm(
        {"": "spectral_product"}, ("f32",), {"cuda": _PRODUCT_KEYS, **{target: _CPU_KEYS for target in CPU_TARGETS}},
        (*_PRODUCT_KEYS, "min_blocks", "unroll_ic", "products", "sum_ic"), tile_owner="thread"),
}


class ManifestError(Exception):
    """A line of the manifest is wrong; the text names file, line, what was found and what is expected."""


class Variant:
    """One row of the table: an algorithm for one element type and target with its parameters."""

    def __init__(self, algorithm, type, target, params):
        self.algorithm, self.type, self.target, self.params = algorithm, type, target, params
        self.name = variant_name(algorithm, type, target, params)

    @property
    def halide_target(self):
        return HALIDE_TARGETS[self.target]

    def functions(self):
        """(name, generator) of each compiled function."""
        return [(self.name + suffix, generator) for suffix, generator in ALGORITHMS[self.algorithm].generators.items()]

    def generator_params(self):
        """`key=value` strings for the generator's command line."""
        typed = f"bits={BIT_TYPES[self.type]}" if self.type in BIT_TYPES else f"type={FLOAT_TYPES[self.type]}"
        words = [f"{key}={self.params[key]}" for key in KEYS if key in self.params and key != "layout"]
        return [typed] + words + [f"layout={LAYOUTS[layout]}" for layout in [self.params.get("layout", 0)] if layout]

    def table_row(self):
        values = ", ".join(str(self.params.get(key, 0)) for key in KEYS)
        return f"HCONV_VARIANT({self.name}, {self.algorithm}, {self.type}, {self.target}, {values})"


def variant_name(algorithm, type, target, params):
    """The name says everything that tells two variants of one algorithm apart; it is a C identifier."""
    layout = [LAYOUTS[params["layout"]]] if params.get("layout", 0) else []
    if not ALGORITHMS[algorithm].required[target]:
        return "_".join([algorithm, type, *layout, target])
    if algorithm == "transform":
        return f"conv2d_transform_{type}_fft{params['fft_h']}x{params['fft_w']}_{target}"
    convolves = algorithm != "spectral_product"
    parts = [f"conv2d_{algorithm}" if convolves else algorithm, type, *layout,
             f"oc{params['tile_oc']}x{params['tile_ow']}"]

    def differs(key):
        return key in params and params[key] != UNNAMED[key]

    if differs("tile_oh"):
        parts.append(f"r{params['tile_oh']}")
    if "thread_oc" in params or "thread_ow" in params:
        rows = f"x{params['thread_oh']}" if differs("thread_oh") else ""
        parts.append(f"t{params.get('thread_oc', 1)}{rows}x{params.get('thread_ow', 1)}")
    parts.append(f"ic{params['ic']}")
    if differs("kh_tile"):
        parts.append(f"kh{params['kh_tile']}")
    if convolves:
        parts.append(f"kw{params['kw']}" if params.get("kw") else "kwany")
    if differs("kw_tile"):
        parts.append(f"kt{params['kw_tile']}")
    if differs("products"):
        parts.append(f"p{params['products']}")
    if differs("sum_ic"):
        parts.append(f"b{params['sum_ic']}")
    if differs("store_bytes"):
        parts.append(f"y{params['store_bytes']}")
    if params.get("a_shared"):
        parts.append("ss")
    if differs("unroll_ic"):
        parts.append(f"u{params['unroll_ic']}")
    if "stages" in params:
        parts.append(f"s{params['stages']}")
    if "warps" in params:
        parts.append(f"w{params['warps']}")
    if differs("min_blocks"):
        parts.append(f"mb{params['min_blocks']}")
    if params.get("split"):
        parts.append("split")
    return "_".join(parts + [target])


def _one_of(what, found, allowed):
    if found not in allowed:
        raise ManifestError(f"{what} is '{found}', expected one of {', '.join(sorted(allowed))}.")


def _parse_params(words):
    params = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ManifestError(f"'{word}' is not a key=value pair.")
        _one_of("The key", key, KEYS)
        if key in params:
            raise ManifestError(f"The key '{key}' is given twice.")
        if key == "layout":
            _one_of("layout", value, LAYOUTS)
            params[key] = LAYOUTS.index(value)
            continue
        if not (value.isascii() and value.isdigit()) or (int(value) == 0 and key not in ZERO_ALLOWED):
            least = 0 if key in ZERO_ALLOWED else 1
            raise ManifestError(f"{key} is '{value}', expected a whole number of at least {least}.")
        params[key] = int(value)
    return params


_THREAD_OF_TILE = {"tile_oc": "thread_oc", "tile_ow": "thread_ow", "tile_oh": "thread_oh"}


def _check_threads(params, tile_owner):
    """A thread block must have exactly as many threads, or with tensor cores warps, as its tile has tiles of theirs."""
    pairs = [(tile, thread) for tile, thread in _THREAD_OF_TILE.items() if tile in params]
    for tile, thread in pairs:
        if params[tile] % params[thread]:
            raise ManifestError(f"{tile} is {params[tile]}, expected a multiple of {thread}={params[thread]}.")
    owners = math.prod(params[tile] // params[thread] for tile, thread in pairs)
    if tile_owner == "warp":
        if owners != params["warps"]:
            raise ManifestError(f"The tiles make {owners} warps, but warps={params['warps']}.")
    elif owners != 32 * params["warps"]:
        raise ManifestError(f"The tiles make {owners} threads, but warps={params['warps']} are "
                            f"{32 * params['warps']}.")


def parse_line(line):
    """The variants of one manifest line (none when it is blank or a comment)."""
    words = line.split("#", 1)[0].split()
    if not words:
        return []
    if len(words) < 3:
        raise ManifestError(f"The line has {len(words)} word(s), expected `algorithm types target key=value ...`.")
    algorithm_name, types, target = words[:3]
    _one_of("The algorithm", algorithm_name, ALGORITHMS)
    algorithm = ALGORITHMS[algorithm_name]
    _one_of(f"The target of '{algorithm_name}'", target, algorithm.required)
    types = types.split(",")
    for position, type in enumerate(types):
        _one_of(f"A type of '{algorithm_name}'", type, algorithm.types)
        if type in types[:position]:
            raise ManifestError(f"The type '{type}' is given twice.")
    params = _parse_params(words[3:])
    for key in params:
        if not algorithm.allowed:
            raise ManifestError(f"A {algorithm_name} variant takes no keys, but '{key}' is given.")
        if key not in algorithm.allowed:
            raise ManifestError(f"A {algorithm_name} variant takes no {key}; it takes {', '.join(algorithm.allowed)}.")
    missing = [key for key in algorithm.required[target] if key not in params]
    if missing:
        raise ManifestError(f"The '{algorithm_name}' variant for {target} needs {', '.join(missing)}.")
    params = {**{key: value for key, value in DEFAULTS.items() if key in algorithm.allowed}, **params}
    if "warps" in algorithm.required[target]:
        _check_threads(params, algorithm.tile_owner)
    if params.get("products", 4) not in (3, 4):
        raise ManifestError(f"products is {params['products']}, expected 3 or 4.")
    if params.get("store_bytes", 2) not in (2, 16):
        raise ManifestError(f"store_bytes is {params['store_bytes']}, expected 2 or 16.")
    if params.get("sum_ic", 0) % params.get("ic", 1):
        raise ManifestError(f"sum_ic is {params['sum_ic']}, expected a multiple of ic={params['ic']}.")
    if params.get("split", 1) != 1:
        raise ManifestError(f"split is {params['split']}, expected 1.")
    if params.get("a_shared", 1) != 1:
        raise ManifestError(f"a_shared is {params['a_shared']}, expected 1.")
    if "split" in params and (algorithm_name == "wgmma" or target != "cuda"):
        raise ManifestError(f"split is given, expected only in direct and mma variants for cuda, not {algorithm_name} for {target}.")
    for key in _FFT_KEYS:
        if params.get(key, 8) not in (8, 16, 32, 64):
            raise ManifestError(f"{key} is {params[key]}, expected a power of two from 8 to 64.")
    return [Variant(algorithm_name, type, target, params) for type in types]


def parse(text, file_name="variants.txt"):
    """All variants of a manifest in the order of its lines; ManifestError for the first line that is wrong."""
    variants, lines_by_name = [], {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            for variant in parse_line(line):
                if variant.name in lines_by_name:
                    raise ManifestError(f"The variant {variant.name} was already given in line "
                                        f"{lines_by_name[variant.name]}.")
                lines_by_name[variant.name] = number
                variants.append(variant)
        except ManifestError as error:
            raise ManifestError(f"{file_name}:{number}: {error}") from None
    if not variants:
        raise ManifestError(f"{file_name}:1: The manifest names no variant.")
    return variants


def to_cmake(variants):
    calls = [f"hconv_variant({name} {v.algorithm} {v.type} {v.target} {generator}\n"
             f"  {v.halide_target}\n  {' '.join(v.generator_params())})\n" for v in variants
             for name, generator in v.functions()]
    return "".join(calls)


def to_inc(variants):
    header = f"// HCONV_VARIANT(name, algorithm, type, target, {', '.join(KEYS)})\n"
    return header + "".join(v.table_row() + "\n" for v in variants)


def to_json(variants):
    rows = [{"name": v.name, "algorithm": v.algorithm, "type": v.type, "target": v.target,
             "halide_target": v.halide_target, "functions": [name for name, _ in v.functions()], **{key: v.params.get(key, 0) for key in KEYS}} for v in variants]
    return json.dumps(rows, indent=1) + "\n"


def write_if_changed(path, text):
    """Writes the file unless it already says this; True when it was written."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return False
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return True


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("out_dir")
    options = parser.parse_args(arguments)
    try:
        with open(options.manifest, encoding="utf-8") as file:
            variants = parse(file.read(), options.manifest)
    except (ManifestError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    os.makedirs(options.out_dir, exist_ok=True)
    for name, text in (("variants.cmake", to_cmake(variants)), ("variants.inc", to_inc(variants)),
                       ("variants.json", to_json(variants))):
        write_if_changed(os.path.join(options.out_dir, name), text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
