"""compare.py's peers on request: which of them --peers chooses, and cuDNN's algorithms with a stand-in for the library."""

import ctypes
import importlib
import sys
from types import SimpleNamespace
from unittest import mock

import compare
import pytest

REQUESTED = ["cublas", "cudnn gemm", "cudnn fft/winograd"]


@pytest.fixture
def modules(monkeypatch):
    """lib.peers and lib.cudnn over a PyTorch that only counts what is asked of it."""
    torch = mock.MagicMock()
    for name in ("torch", "torch.nn", "torch.nn.functional"):
        monkeypatch.setitem(sys.modules, name, torch)
    for name in ("lib.peers", "lib.cudnn"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield SimpleNamespace(peers=importlib.import_module("lib.peers"), cudnn=importlib.import_module("lib.cudnn"), torch=torch)
    for name in ("lib.peers", "lib.cudnn"):
        sys.modules.pop(name, None)


class Library:
    """Answers as libcudnn does: each function with 0, or with the status that `fails` has for (function, algorithm)."""

    NAMES = {2000: b"CUDNN_STATUS_BAD_PARAM", 3000: b"CUDNN_STATUS_NOT_SUPPORTED",
             3002: b"CUDNN_STATUS_NOT_SUPPORTED_SHAPE", 3009: b"CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
             5000: b"CUDNN_STATUS_EXECUTION_FAILED"}

    def __init__(self, names, fails=None):
        self.fails, self.calls, self.made = fails or {}, [], 0
        for name in names:
            setattr(self, f"cudnn{name}", self.function(name))
        self.cudnnGetErrorString = self.error_string

    @staticmethod
    def error_string(status):
        return Library.NAMES[status]

    error_string.restype = None  # may be set, as in ctypes

    def function(self, name):
        def answer(*arguments):
            # As ctypes does: each argument must pass for its parameter.
            assert len(arguments) == len(answer.argtypes)
            for kind, argument in zip(answer.argtypes, arguments):
                kind.from_param(argument) if not isinstance(argument, int) else kind(argument)
            self.calls.append((name, arguments))
            if name.startswith("Create"):
                self.made += 1
                arguments[0]._obj.value = (1 << 40) + self.made
            if name == "GetConvolutionForwardWorkspaceSize":
                arguments[-1]._obj.value = 1 << 33
            at = {"GetConvolutionForwardWorkspaceSize": 5, "ConvolutionForward": 7}.get(name)
            return self.fails.get((name, arguments[at] if at else None), 0)

        return answer

    def arguments(self, name):
        return [given for called, given in self.calls if called == name]


def tensor(*shape):
    return SimpleNamespace(shape=shape, data_ptr=lambda: (1 << 45) + len(shape))


@pytest.fixture
def case():
    shape = SimpleNamespace(padding=(1, 1, 2, 2), output=(2, 5, 10, 14))
    return SimpleNamespace(x=tensor(2, 3, 10, 12), w=tensor(5, 3, 3, 3), shape=shape, device="cuda")


def prepared(modules, case, fails=None):
    """(library, the function from an algorithm's number to a callable)"""
    modules.torch.cuda.current_stream.return_value.cuda_stream = 77
    modules.torch.empty.return_value.data_ptr.return_value = 1 << 46
    library = Library(modules.cudnn.PARAMETERS, fails)
    return library, modules.cudnn.forward(modules.cudnn.Cudnn(library), case, tensor(*case.shape.output))


def clock(times):
    """Each callable's run tells its time: the n-th measured is the n-th of times."""
    left = iter(times)
    return SimpleNamespace(milliseconds=lambda call: next(left))


@pytest.mark.parametrize("choice, requested", [
    (None, []), ("none", []), ("all", REQUESTED), ("cudnn", []), ("cudnn,fft", []), ("fp32", []),
    ("cudnn gemm", REQUESTED[1:2]), ("gemm,cublas", REQUESTED[:2]), ("winograd, cublas", REQUESTED[::2]),
    ("cudnn fft", REQUESTED[2:]),
])
def test_some_peers_run_only_on_request(modules, choice, requested):
    peers = modules.peers.gpu_peers() + modules.cudnn.cudnn_peers()
    chosen = compare.choose(peers, choice)
    assert [peer.name for peer in chosen if peer.on_request] == requested
    assert all(peer.kinds == ("f32",) and peer.mode == "fp32" for peer in peers if peer.on_request)


def test_descriptors_say_float32_without_tf32(modules, case):
    library, with_algorithm = prepared(modules, case)
    handle, x, y, w, convolution = ((1 << 40) + number for number in range(1, 6))

    def plain(name):
        return [tuple(getattr(value, "value", value) for value in given) for given in library.arguments(name)]

    assert plain("SetTensor4dDescriptor") == [(x, 0, 0, 2, 3, 10, 12), (y, 0, 0, 2, 5, 10, 14)]
    assert plain("SetFilter4dDescriptor") == [(w, 0, 0, 5, 3, 3, 3)]
    assert plain("SetConvolution2dDescriptor") == [(convolution, 1, 2, 1, 1, 1, 1, 1, 0)]
    assert plain("SetConvolutionMathType") == [(convolution, 3)] and plain("SetStream") == [(handle, 77)]
    with_algorithm(2)()
    (given,) = plain("ConvolutionForward")
    assert (given[0], given[2], given[4], *given[6:10], given[11]) == (handle, x, w, convolution, 2, 1 << 46, 1 << 33, y)
    alpha, beta = (library.arguments("ConvolutionForward")[0][at]._obj for at in (1, 10))
    assert (type(alpha), alpha.value, beta.value) == (ctypes.c_float, 1, 0)


def test_the_fastest_supported_algorithm_is_the_peer(modules, case, capsys):
    fails = {("GetConvolutionForwardWorkspaceSize", 0): 3000, ("ConvolutionForward", 3): 3002}
    _, with_algorithm = prepared(modules, case, fails)
    assert modules.cudnn.fastest(modules.cudnn.SUMS, with_algorithm, clock([3, 2]), "cuDNN") == "GEMM"
    assert capsys.readouterr().err == ""


def test_no_supported_algorithm_is_a_skip(modules, case):
    fails = {("GetConvolutionForwardWorkspaceSize", number): 3000 for number in range(4, 8)}
    _, with_algorithm = prepared(modules, case, fails)
    with pytest.raises(modules.peers.Skip, match="FFT, FFT_TILING, WINOGRAD, WINOGRAD_NONFUSED"):
        modules.cudnn.fastest(modules.cudnn.TRANSFORMS, with_algorithm, clock([]), "cuDNN")


def test_other_failures_are_told_and_leave_the_other_algorithms(modules, case, capsys):
    fails = {("ConvolutionForward", 0): 5000}
    _, with_algorithm = prepared(modules, case, fails)
    assert modules.cudnn.fastest(modules.cudnn.SUMS, with_algorithm, clock([1, 2, 3]), "cuDNN") == "IMPLICIT_PRECOMP_GEMM"
    assert "IMPLICIT_GEMM: cudnnConvolutionForward: CUDNN_STATUS_EXECUTION_FAILED (5000)" in capsys.readouterr().err


def test_failures_alone_are_an_error(modules, case):
    """A part of cuDNN that is missing is no property of the shape."""
    fails = {("GetConvolutionForwardWorkspaceSize", number): 3009 for number in range(4)}
    _, with_algorithm = prepared(modules, case, fails)
    with pytest.raises(modules.cudnn.CudnnError, match=r"DIRECT: cudnnGet.*SUBLIBRARY_UNAVAILABLE \(3009\)"):
        modules.cudnn.fastest(modules.cudnn.SUMS, with_algorithm, clock([]), "cuDNN")


def test_descriptors_that_cudnn_refuses_are_an_error(modules, case):
    with pytest.raises(modules.cudnn.CudnnError, match="cudnnSetTensor4dDescriptor: CUDNN_STATUS_BAD_PARAM"):
        prepared(modules, case, {("SetTensor4dDescriptor", None): 2000})
    case.shape.padding = (1, 2, 0, 0)
    with pytest.raises(modules.peers.Skip, match="both sides"):
        prepared(modules, case)


def test_the_choice_of_algorithm_is_recorded_and_the_output_does_not_keep_the_trials(modules, case, monkeypatch):
    library = Library(modules.cudnn.PARAMETERS)
    y = modules.torch.empty.return_value
    y.shape, y.data_ptr.return_value = case.shape.output, 1 << 46
    case.x.dtype = "float32"
    modules.torch.cuda.current_stream.return_value.cuda_stream = 0
    monkeypatch.setattr(modules.cudnn, "cudnn", lambda: modules.cudnn.Cudnn(library))
    monkeypatch.setattr(modules.cudnn, "GpuClock", lambda budget: clock([4, 3, 2, 5]))
    run = modules.cudnn.cudnn_peers()[0].prepare(case)
    trials = len(library.arguments("ConvolutionForward"))
    assert run.variant == "GEMM" and trials == 4 and y.fill_.call_count == 1
    assert run() is y and library.arguments("ConvolutionForward")[-1][7] == 2
