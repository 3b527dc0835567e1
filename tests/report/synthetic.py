"""Logs and comparisons for the tests, computed from a formula: nothing here was measured."""

from __future__ import annotations

import hashlib
import json
import math
import random

SHAPES = {  # shape with OC: paddings
    "4,64,128,128,8,8,64": (0, 0, 0, 0),
    "2,128,256,256,16,16,128": (0, 0, 0, 0),
    "32,64,56,56,3,3,64": (1, 1, 1, 1),
    "32,256,32,32,1,1,256": (0, 0, 0, 0),
}
TILE_OC, TILE_OW, STAGES = (16, 32, 64, 128), (16, 32, 64, 128, 256), (2, 3)
PEERS = {"cudnn nchw": 1.5, "cudnn nhwc": 0.7, "tiled torch.fft": 3.0, "triton seed": 12.0}  # times hconv's time
FIXED = {"thread_oc": 8, "thread_ow": 8, "ic": 8, "kw_tile": 8, "warps": 4}


def flops(shape: str, pad) -> float:
    b, c, h, w, kh, kw, oc = map(int, shape.split(","))
    return 2.0 * b * oc * (h + pad[0] + pad[1] - kh + 1) * (w + pad[2] + pad[3] - kw + 1) * c * kh * kw


def milliseconds(shape: str, pad, tile_oc: int, tile_ow: int, stages: int) -> float:
    """40 TFLOP/s at a tile of 64 x 128 with 3 stages, 12 % more time for each doubling away from it."""
    away = abs(math.log2(tile_oc / 64)) + abs(math.log2(tile_ow / 128)) + (3 - stages) / 2
    return flops(shape, pad) / 40e12 * 1e3 * 1.12 ** away


def measurement(shape, pad, trial, tile_oc, tile_ow, stages, type_="f32", scale=1.0, **changes) -> dict:
    """One line as docs of the log have it: 8 samples, 1 % apart around the formula."""
    noise = random.Random(f"{shape}{tile_oc}{tile_ow}{stages}{type_}")
    median = scale * milliseconds(shape, pad, tile_oc, tile_ow, stages)
    samples = [median * (1 + 0.01 * (noise.random() - 0.5)) for _ in range(8)]
    variant = f"conv2d_direct_{type_}_oc{tile_oc}x{tile_ow}_t8x8_ic8_s{stages}_w4_cuda"
    record = {
        "kind": "measurement", "version": 1, "shape": shape, "pad": list(pad), "type": type_, "mode": "fp32",
        "layout": "nchw", "target": "cuda", "algorithm": "direct",
        "parameters": {"tile_oc": tile_oc, "tile_ow": tile_ow, "stages": stages, **FIXED}, "variant": variant,
        "status": "ok", "reason": "", "samples_ms": samples, "rejected_samples": trial % 3, "median_ms": median,
        "low_ms": 0.995 * median, "high_ms": 1.005 * median, "error_l2": 2.5e-7,
        "registers": 64 + tile_oc, "shared_bytes": 32 * stages * (tile_oc + tile_ow),
        "device": {"name": "Synthetic GPU", "arch": "sm_90a", "driver": "0.0", "clocks": "base"},
        "build": {"halide": "21.0.0", "nvcc": "13.0", "source": "0" * 64}, "when": f"2026-12-02T07:{trial % 60:02}:00Z",
        "seconds": 1.5, "round": 0, "trial": trial,
    }
    record.update(changes)
    record["id"] = hashlib.sha256(f"{shape}{variant}{trial}".encode()).hexdigest()
    return record


def failed(record: dict) -> dict:
    return {**record, "samples_ms": [], "median_ms": None, "low_ms": None, "high_ms": None, "error_l2": None}


def search(scale: float = 1.0, types=("f32",), shapes=None) -> list:
    """Records of a whole search in a shuffled order; the largest tiles do not fit, as a real search would find."""
    records = []
    for type_ in types:
        for shape, pad in (shapes or SHAPES).items():
            space = [(a, b, s) for a in TILE_OC for b in TILE_OW for s in STAGES]
            random.Random(shape).shuffle(space)
            for trial, (tile_oc, tile_ow, stages) in enumerate(space, 1):
                record = measurement(shape, pad, trial, tile_oc, tile_ow, stages, type_, scale)
                if tile_oc * tile_ow >= 128 * 256:
                    record = failed({**record, "status": "build_failed",
                                     "reason": "ptxas: the kernel needs 300 registers, expected at most 255."})
                elif (tile_oc, tile_ow, stages) == (16, 256, 2):
                    record = failed({**record, "status": "timeout", "reason": "It ran longer than 4 times the best."})
                records.append(record)
            records.append({"kind": "decision", "shape": shape, "pad": list(pad), "type": type_, "mode": "fp32",
                            "target": "cuda", "winner": f"conv2d_direct_{type_}_oc64x128_t8x8_ic8_s3_w4_cuda",
                            "incumbent": f"conv2d_direct_{type_}_oc32x64_t8x8_ic8_s3_w4_cuda", "verdict": "replaced",
                            "why": "Its interval lies below the incumbent's.", "when": "2026-12-02T07:59:00Z"})
    return records


def write_log(path, records) -> str:
    path.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in records), encoding="utf-8")
    return str(path)


def write_comparison(path, types=("f32", "bf16")) -> str:
    """Lines of bench/compare.py --ceilings: peers at fixed multiples of the formula's time."""
    lines = ["shape\ttype\tmode\tms\trelative_l2_error\twho",
             f"copy 2^30 bytes\tu8\t-\t{2 * 2 ** 30 / 4.2e12 * 1e3:.6f}\t0.000e+00\tceiling"]
    for type_, rate in (("f32", 51e12), ("bf16", 740e12)):
        lines.append(f"product 8192\t{type_}\tfp32\t{2 * 8192 ** 3 / rate * 1e3:.6f}\t0.000e+00\tceiling")
    for type_ in types:
        for index, (shape, pad) in enumerate(SHAPES.items()):
            token = ",".join(shape.split(",")[:6]) if not any(pad) else f"{shape},{pad[0]}"
            own = milliseconds(shape, pad, 64, 128, 3)
            lines.append(f"{token}\t{type_}\tfp32\t{own:.6f}\t2.5e-07\thconv conv2d_direct_{type_}_oc64x128_cuda")
            for peer, factor in PEERS.items():
                lines.append(f"{token}\t{type_}\tfp32\t{own * factor * (1 + 0.2 * index):.6f}\t3.0e-07\t{peer}")
    lines.append(f"1,16,32,32,4,4\tf32\tfp32\tFAILED\tnan\ttriton seed")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
