"""What HCONV_VARIANT can be set to."""

from __future__ import annotations

PARTS = (2, 4, 8, 16, 32, 64)
TYPE_NAMES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def variant_names(listed, kind: str, device: str) -> list:
    """Names of the compiled variants that compute a type on a device, from hconv.list_variants(); those of the transform
    domain with each of the kernels that can multiply their spectra, split ones as the library would choose their number
    of parts, and in each number."""
    rows = listed["variants"] if isinstance(listed, dict) else listed
    # Halide's stock back end serves no one by default, and takes a hundred times as long.
    rows = [row for row in rows
            if row["target"].startswith("cpu") != (device == "cuda") and row["target"] != "halide_ptx"]
    names = []
    for row in rows:
        if row["algorithm"].startswith(("pack", "transpose", "spectral", "sum_parts")) or \
                row["type"] not in (kind, TYPE_NAMES[kind]):
            continue
        products = [f"+{other['name']}" for other in rows if row["algorithm"] == "transform"
                    and (other["algorithm"], other["target"]) == ("spectral_product", row["target"])]
        parts = [f"+{count}" for count in PARTS] if row.get("parameters", {}).get("split") else []
        names += [row["name"] + behind for behind in products or ["", *parts]]
    return names
