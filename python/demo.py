#!/usr/bin/env python3
"""Convolves a photograph with a bank of 20 filters through hconv, checks the result and draws a contact sheet.

The photograph is padded by reflection and convolved once for each kernel size: on the GPU if there is one, else on the
CPU. Each result is compared with a float64 reference; the exit status is 1 if an error exceeds its bound and 2 if the
demo could not run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent))
import hconv  # noqa: E402
from demo_filters import by_size, filter_bank  # noqa: E402
from demo_sheet import draw_sheet  # noqa: E402

UNIT_ROUNDOFF = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8}


def load_photo(path, height=None):
    """[3, H, W] in 0..1, float64. Without a path: the portrait of Grace Hopper that matplotlib ships."""
    if path is None:
        import matplotlib
        path = Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg"
    image = Image.open(path).convert("RGB")
    if height:
        image = image.resize((max(1, round(image.width * height / image.height)), height), Image.Resampling.LANCZOS)
    return numpy.asarray(image, dtype=numpy.float64).transpose(2, 0, 1) / 255


def rounded(values, dtype):
    """Values rounded to the element type: (array for hconv, the same values in float64)."""
    if dtype == "bfloat16":
        bits = hconv.to_bfloat16(values)
        return bits, hconv.from_bfloat16(bits).astype(numpy.float64)
    array = numpy.ascontiguousarray(values, dtype=dtype)
    return array, array.astype(numpy.float64)


def reference(x, w, bias):
    """The convolution in float64: x [IC, H, W], w [OC, IC, KH, KW], bias [OC] -> [OC, OH, OW], one tap at a time."""
    kh, kw = w.shape[2:]
    oh, ow = x.shape[1] - kh + 1, x.shape[2] - kw + 1
    y = numpy.zeros((w.shape[0], oh, ow)) + bias[:, None, None]
    for i in range(kh):
        for j in range(kw):
            y += numpy.tensordot(w[:, :, i, j], x[:, i:i + oh, j:j + ow], axes=1)
    return y


def relative_error_bound(x, w, bias, y, dtype, promise):
    """Bound on ||result - y|| / ||y|| (L2): a sum errs by at most what hconv.explain promises, relative to the sum of
    magnitudes, or in the transform domain to the norms of tile and filter; the store rounds once to the type."""
    by_norms = promise["relative_to_norms_of_tile_and_filter"]
    if by_norms is None:
        summation = promise["relative_to_sum_of_absolute_products"] * reference(numpy.abs(x), numpy.abs(w),
                                                                               numpy.abs(bias))
    else:  # no tile's norm is larger than the picture's
        filters = numpy.sqrt(numpy.sum(w * w, axis=(1, 2, 3)))
        summation = by_norms * (numpy.linalg.norm(x) * filters + numpy.abs(bias))[:, None, None]
    store = 0 if dtype == "float32" else UNIT_ROUNDOFF[dtype] * (numpy.abs(y) + summation) + 2.0 ** -25
    return float(numpy.linalg.norm(summation + store) / numpy.linalg.norm(y))


def measure(call, synchronize, budget=0.3):
    """Median seconds of a call, over batches of calls in a row so that launching overlaps with computing."""
    call()
    synchronize()
    start = time.perf_counter()
    call()
    synchronize()
    once = max(time.perf_counter() - start, 1e-6)
    batch = max(1, min(100, int(0.02 / once)))
    samples = []
    while len(samples) < 3 or (sum(samples) * batch < budget and len(samples) < 30):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        synchronize()
        samples.append((time.perf_counter() - start) / batch)
    return statistics.median(samples)


def convolve(photo, filters, dtype, device, math):
    """All filters of one kernel size in one call; returns responses [OC, H, W] as float64 and a row of the report."""
    kh, kw = filters[0].size
    padded = numpy.pad(photo, ((0, 0), (kh // 2, kh // 2), (kw // 2, kw // 2)), mode="reflect")
    x, x64 = rounded(padded[None], dtype)
    w, w64 = rounded(numpy.concatenate([entry.weights for entry in filters]), dtype)
    bias, bias64 = rounded(numpy.repeat([entry.bias for entry in filters], [len(entry.weights) for entry in filters]),
                           dtype)
    if device != "cpu":
        x, w, bias = (hconv.to_device(array, device) for array in (x, w, bias))
    plan = hconv.Plan.for_arrays(x, w, math=math)
    run = plan.prepare(x, plan.pack(w), bias)
    seconds = measure(run, lambda: hconv.synchronize(device))
    y = run.out if device == "cpu" else run.out.numpy()
    y = (hconv.from_bfloat16(y) if dtype == "bfloat16" else y).astype(numpy.float64)[0]
    expected = reference(x64[0], w64, bias64)
    error = float(numpy.linalg.norm(y - expected) / numpy.linalg.norm(expected))
    promise = hconv.explain(plan.problem)["error_bound"]
    bound = relative_error_bound(x64[0], w64, bias64, expected, dtype, promise)
    return y, dict(size=f"{kh}x{kw}", filters=len(filters), channels=w64.shape[0], variant=plan.variant, seconds=seconds,
                   gflops=plan.problem.flops / seconds / 1e9, error=error, bound=bound,
                   ok=bool(error <= bound))  # NaN is not <= anything


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                     epilog="example: demo.py --type bf16 --photo cat.jpg --output cat.png")
    parser.add_argument("--output", default="demo-out/demo.png", help="PNG file to write (default: %(default)s)")
    parser.add_argument("--photo", help="picture to convolve (default: a portrait that matplotlib ships)")
    parser.add_argument("--height", type=int, help="scale the photograph to this height in pixels")
    parser.add_argument("--device", choices=("cpu", "cuda"),
                        help="default: HCONV_DEVICE, else the GPU if there is one, else the CPU")
    parser.add_argument("--type", choices=("f32", "bf16", "f16"), default="f32")
    parser.add_argument("--math", choices=("fp32", "strict"), default="fp32")
    parser.add_argument("--width", type=int, default=1800, help="width of the sheet in pixels (default: %(default)s)")
    parser.add_argument("--palette", action="store_true", help="write 256 colours: a smaller file")
    return parser.parse_args(arguments)


def main(arguments=None) -> int:
    options = parse(arguments)
    dtype = hconv.arrays.type_name(options.type)
    try:
        device = options.device or hconv.default_device()
        name = hconv.device_name(device)
        photo = load_photo(options.photo, options.height)
        if min(photo.shape[1:]) < 16:
            raise ValueError(f"The photograph has {photo.shape[1]}x{photo.shape[2]} pixels; expected at least 16x16.")
        print(f"device   {name} ({device})")
        print(f"picture  {photo.shape[2]}x{photo.shape[1]} pixels, 3 channels, {dtype}\n")
        print(f"{'kernel':8}{'filters':>8}{'outputs':>8}{'ms':>10}{'GFLOP/s':>10}{'error':>10}{'bound':>10}  variant")
        results, rows = [], []
        for filters in by_size(filter_bank()).values():
            responses, row = convolve(photo, filters, dtype, device, options.math)
            rows.append(row)
            print("{size:8}{filters:8}{channels:8}{ms:10.4f}{gflops:10.1f}{error:10.1e}{bound:10.1e}  {variant}{note}"
                  .format(ms=row["seconds"] * 1e3, note="" if row["ok"] else "  ERROR ABOVE BOUND", **row))
            offset = 0
            for entry in filters:
                results.append((entry, responses[offset:offset + len(entry.weights)]))
                offset += len(entry.weights)
        verdict = "within" if all(row["ok"] for row in rows) else "NOT WITHIN"
        total = sum(row["seconds"] for row in rows) * 1e3
        footer = (f"{name}   ·   {dtype}   ·   {total:.{2 if total < 100 else 0}f} ms for all filters   ·   "
                  f"relative error {max(row['error'] for row in rows):.1e} against float64, {verdict} the bound")
        Path(options.output).parent.mkdir(parents=True, exist_ok=True)
        draw_sheet(photo, results, footer, options.output, options.width, options.palette)
    except (hconv.Error, OSError, ValueError) as reason:
        print(f"demo: {reason}", file=sys.stderr)
        return 2
    print(f"\nsheet    {options.output}")
    if not all(row["ok"] for row in rows):
        print("demo: a relative error exceeds its bound; the results are wrong.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
