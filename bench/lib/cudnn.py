"""Peers that call cuDNN with an algorithm of their choice, which PyTorch does not offer."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from pathlib import Path

import torch
from hconv_measure.clocks import GpuClock

from .peers import Peer, Skip, symmetric_padding

# Numbers of cudnnConvolutionFwdAlgo_t.
SUMS = {"IMPLICIT_GEMM": 0, "IMPLICIT_PRECOMP_GEMM": 1, "GEMM": 2, "DIRECT": 3}
TRANSFORMS = {"FFT": 4, "FFT_TILING": 5, "WINOGRAD": 6, "WINOGRAD_NONFUSED": 7}

FLOAT, NCHW, CROSS_CORRELATION, FMA_MATH = 0, 0, 1, 3  # FMA_MATH rules TF32 out.

# Parameters of the functions in use: pointers, ints and sizes. All return a cudnnStatus_t.
LETTERS = {"p": ctypes.c_void_p, "i": ctypes.c_int, "z": ctypes.c_size_t}
PARAMETERS = {
    "Create": "p", "SetStream": "pp", "CreateTensorDescriptor": "p", "SetTensor4dDescriptor": "piiiiii",
    "CreateFilterDescriptor": "p", "SetFilter4dDescriptor": "piiiiii",
    "CreateConvolutionDescriptor": "p", "SetConvolution2dDescriptor": "piiiiiiii", "SetConvolutionMathType": "pi",
    "GetConvolutionForwardWorkspaceSize": "pppppip", "ConvolutionForward": "pppppppipzppp",
}


class CudnnError(RuntimeError):
    """The text names the function and the status."""


class Unsupported(CudnnError):
    """The algorithm does not serve the shape on this device."""


class Cudnn:
    """The functions of a loaded libcudnn, which raise CudnnError where they do not succeed."""

    def __init__(self, library):
        self.library = library
        library.cudnnGetErrorString.restype = ctypes.c_char_p
        for name, letters in PARAMETERS.items():
            getattr(library, f"cudnn{name}").argtypes = [LETTERS[letter] for letter in letters]
        self.handle = self.make("Create")

    def call(self, name, *arguments) -> None:
        status = getattr(self.library, f"cudnn{name}")(*arguments)
        if status:
            text = self.library.cudnnGetErrorString(status).decode()
            incomplete = "SUBLIBRARY" in text  # what is installed, not what the shape asks for
            unsupported = text.startswith("CUDNN_STATUS_NOT_SUPPORTED") and not incomplete
            raise (Unsupported if unsupported else CudnnError)(f"cudnn{name}: {text} ({status})")

    def make(self, create, change=None, *values) -> ctypes.c_void_p:
        """A handle or a set descriptor. They are small, and live as long as the process."""
        made = ctypes.c_void_p()
        self.call(create, ctypes.byref(made))
        if change:
            self.call(change, made, *values)
        return made


def library_path() -> str:
    """The libcudnn that PyTorch has loaded, or one that came with it. Raises OSError."""
    loaded = [line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
    root = Path(torch.__file__).parent
    installed = [*root.glob("lib/libcudnn.so*"), *root.parent.glob("nvidia/cudnn/lib/libcudnn.so*")]
    for path in (*loaded, *map(str, installed)):
        if Path(path).name.startswith("libcudnn.so"):
            return path
    raise OSError("PyTorch has loaded no libcudnn.so, and there is none beside it.")


@functools.cache
def cudnn() -> Cudnn:
    return Cudnn(ctypes.CDLL(library_path()))


def forward(native, case, y):
    """A function that takes the number of an algorithm and returns a callable which computes y with it."""
    x, w, padding = case.x, case.w, symmetric_padding(case)
    x_form, y_form = (native.make("CreateTensorDescriptor", "SetTensor4dDescriptor", NCHW, FLOAT, *tensor.shape)
                      for tensor in (x, y))
    w_form = native.make("CreateFilterDescriptor", "SetFilter4dDescriptor", FLOAT, NCHW, *w.shape)
    convolution = native.make("CreateConvolutionDescriptor", "SetConvolution2dDescriptor", *padding, 1, 1, 1, 1,
                              CROSS_CORRELATION, FLOAT)
    native.call("SetConvolutionMathType", convolution, FMA_MATH)
    native.call("SetStream", native.handle, torch.cuda.current_stream().cuda_stream)
    problem = x_form, w_form, convolution, y_form
    one, zero = ctypes.byref(ctypes.c_float(1)), ctypes.byref(ctypes.c_float(0))

    def with_algorithm(number):
        size = ctypes.c_size_t()
        native.call("GetConvolutionForwardWorkspaceSize", native.handle, *problem, number, ctypes.byref(size))
        workspace = torch.empty(max(1, size.value), dtype=torch.uint8, device=case.device)

        def run():
            native.call("ConvolutionForward", native.handle, one, x_form, x.data_ptr(), w_form, w.data_ptr(), convolution,
                        number, workspace.data_ptr(), size, zero, y_form, y.data_ptr())
            return y

        return run

    return with_algorithm


def fastest(algorithms, with_algorithm, clock, what) -> str:
    """The name of the fastest algorithm. Failures for other reasons than the shape are told, and the others go on.
    Raises Skip where none serves the shape, CudnnError where failures leave none."""
    times, failures = {}, []
    for name, number in algorithms.items():
        try:
            call = with_algorithm(number)
            call()
            times[name] = clock.milliseconds(call)
        except Unsupported:
            pass
        except RuntimeError as reason:  # a CudnnError, or no memory for the workspace
            failures.append(f"{name}: {str(reason)[:200]}")
            print(f"{what} without {failures[-1]}", file=sys.stderr)
        call = None  # frees its workspace, which can be large
    if times:
        return min(times, key=times.get)
    if failures:
        raise CudnnError("; ".join(failures))
    raise Skip(f"cuDNN supports none of {', '.join(algorithms)} here")


def _prepare(algorithms):
    def prepare(case):
        y = torch.empty(case.shape.output, dtype=case.x.dtype, device=case.device)
        with_algorithm = forward(cudnn(), case, y)
        name = fastest(algorithms, with_algorithm, GpuClock(0.02), f"cuDNN on {case.shape}")
        run = with_algorithm(algorithms[name])
        run.variant = name
        y.fill_(math.nan)  # It holds what the trials computed.
        return run

    return prepare


def cudnn_peers() -> list[Peer]:
    return [Peer("cudnn gemm", "fp32", ("f32",), _prepare(SUMS), on_request=True),
            Peer("cudnn fft/winograd", "fp32", ("f32",), _prepare(TRANSFORMS), on_request=True)]
