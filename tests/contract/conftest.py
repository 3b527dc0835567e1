"""Paths that the contract tests share; they also run by hand, against build/default."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "cmake"))


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def build_dir():
    return pathlib.Path(os.environ.get("HCONV_BUILD_DIR", ROOT / "build/default"))
