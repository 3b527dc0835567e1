"""Makes the tuner importable from the source tree, here and in the processes that it starts."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = [str(ROOT / "python"), str(Path(__file__).parent)]
sys.path[:0] = PLACES
os.environ["PYTHONPATH"] = os.pathsep.join(PLACES + list(filter(None, [os.environ.get("PYTHONPATH")])))


@pytest.fixture(scope="session")
def build_dir():
    where = os.environ.get("HCONV_BUILD_DIR")
    if not where:
        pytest.skip("HCONV_BUILD_DIR names no build")
    return Path(where)
