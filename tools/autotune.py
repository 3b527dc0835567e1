#!/usr/bin/env python3
"""Tunes hconv's kernels for this machine; python/hconv_tune has the parts, docs/tuning.md the manual."""

import os
import sys
from pathlib import Path

# OpenBLAS spins its threads after each product, and the samples that follow would be timed beside them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

# Processes that measure import this file too, and need none of the search's modules.
if __name__ == "__main__":
    try:
        from hconv_tune.cli import main
    except ModuleNotFoundError as missing:
        sys.exit(f"autotune: {missing}; requirements.txt and requirements-tune.txt list what it needs")
    sys.exit(main())
