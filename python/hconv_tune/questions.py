"""What is asked of a library and a device in processes of their own: which variants serve a problem, at which modelled
cost, and which one the library takes; the device's name; a problem's cases."""

from __future__ import annotations

import os
from pathlib import Path

import hconv
from hconv import _native

from . import cases, machine, nvml
from .problem import Problem

UNASKED = ("HCONV_VARIANT", "HCONV_BACKEND", "HCONV_CHECK", "HCONV_LOG", "HCONV_TUNED_FILE")


def _problem(problem: Problem) -> hconv.Problem:
    s = problem.shape
    return hconv.Problem(s.batch, s.in_channels, s.height, s.width, s.out_channels, s.kernel_height, s.kernel_width,
                         dict(f32="float32", bf16="bfloat16", f16="float16")[problem.type], problem.device, s.padding,
                         problem.mode, problem.layout)


def _environment(**values) -> None:
    for name in UNASKED:
        os.environ.pop(name, None)
    os.environ.update(values)
    _native.library().hconv_reload_environment()


def _chosen(explained: dict) -> str:
    """As a plan names it; explaining needs no device."""
    name, product, split = (explained.get(key) for key in ("variant", "product", "split"))
    return "+".join([name["name"], *([product["name"]] if product else []), *([str(split["parts"])] if split else [])])


def listing(library: str, asked, table: str, tell) -> None:
    """Tells for each of `asked`, pairs of a Problem and names of variants, (the variant that the library takes by itself
    or "", {name: modelled cost} of those that it has and that can compute the problem). The cost is None on a CPU.
    `table`: a tuned table that is asked besides those of the library, or ""."""
    os.environ["HCONV_LIBRARY"] = library
    told = []
    for problem, names in asked:
        if problem.on_cpu:
            os.environ["HCONV_NUM_THREADS"] = str(problem.threads)
        question, costs = _problem(problem), {}
        _environment(**({"HCONV_TUNED_FILE": table} if table else {}))
        try:
            choice = _chosen(hconv.explain(question))
        except hconv.Error:
            choice = ""
        for name in names:
            _environment(HCONV_VARIANT=name)
            try:
                costs[name] = (hconv.explain(question).get("cost") or {}).get("value")
            except (hconv.Unsupported, hconv.InvalidArgument):
                continue
            except hconv.Error as reason:
                tell(("ended", "crash", f"{problem}: {reason}"))
                return
        told.append((choice, costs))
    tell(("done", told))


def gpu_device(library: str, tell) -> None:
    """Tells the log's "device" of the GPU."""
    try:
        if os.environ.get("HCONV_CUDA_DRIVER"):  # the emulated one of the tests
            os.environ["HCONV_LIBRARY"] = library
            tell(("done", {"name": hconv.device_name("cuda"), "arch": "sm_90a", "driver": "emulated", "clocks": "",
                           "threads": 0}))
            return
        import torch
        if not torch.cuda.is_available():
            raise RuntimeError("PyTorch finds no CUDA device here")
        name, capability = torch.cuda.get_device_name(0), torch.cuda.get_device_capability(0)
    except (ImportError, RuntimeError, hconv.Error) as reason:
        tell(("ended", "rejected", str(reason)))
        return
    state = nvml.gpu_state()
    tell(("done", {"name": name, "arch": machine.arch_name(*capability), "driver": state.get("driver", ""),
                   "clocks": f"{state['max_sm']} MHz" if state else "", "threads": 0}))


def serve_cases(pipe) -> None:
    """Makes cases in a process that may use the GPU: `pipe` brings (problem, folder)."""
    while True:
        try:
            problem, folder = pipe.recv()
        except EOFError:
            return
        cases.store(problem, Path(folder))
        pipe.send(("done",))
