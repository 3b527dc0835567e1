"""Runs the command hconv on arrays that numpy wrote."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

NO_DRIVER = {"HCONV_CUDA_DRIVER": "/nowhere/libcuda.so.1"}
HAS_CUDA = bool(os.environ.get("HCONV_CUDA_DRIVER"))


class Cli:
    """The command in a folder of its own."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    def save(self, name, array, fortran=False):
        np.save(self.folder / name, np.asfortranarray(array) if fortran else array)
        return name

    def load(self, name):
        return np.load(self.folder / name)

    def run(self, *arguments, **environment):
        variables = {key: value for key, value in os.environ.items()
                     if not key.startswith("HCONV_") or key == "HCONV_CUDA_DRIVER"}
        variables.update(environment)
        return subprocess.run([os.environ["HCONV_CLI"], *map(str, arguments)], cwd=self.folder, env=variables,
                              capture_output=True, text=True, timeout=120)

    def ok(self, *arguments, **environment):
        result = self.run(*arguments, **environment)
        assert result.returncode == 0, result.stderr
        return result

    def json(self, *arguments, code=0, **environment):
        """The document on stdout of a run with --json."""
        result = self.run(*arguments, "--json", **environment)
        assert result.returncode == code, result.stderr
        return json.loads(result.stdout)

    def refused(self, code, *arguments, **environment):
        """stderr of a run that must end with `code`, both with and without --json, and write no output file."""
        result = self.run(*arguments, **environment)
        assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
        assert not (self.folder / "y.npy").exists()
        error = self.json(*arguments, code=code, **environment)["error"]
        assert error["exit_code"] == code
        assert error["message"] in result.stderr
        return result.stderr

    def conv(self, x, w, *arguments, bias=None, fortran=False):
        """Saves the arrays, convolves them, and returns the output and the JSON document."""
        names = ["--input", self.save("x.npy", x, fortran), "--weights", self.save("w.npy", w, fortran)]
        if bias is not None:
            names += ["--bias", self.save("b.npy", bias)]
        document = self.json("conv", *names, *arguments, "--output", "y.npy")
        return self.load("y.npy"), document


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """"cuda" needs a driver in HCONV_CUDA_DRIVER: the emulated one, or that of a machine with a GPU."""
    if request.param == "cuda" and not HAS_CUDA:
        pytest.skip("HCONV_CUDA_DRIVER names no driver")
    return request.param
