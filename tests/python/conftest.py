"""Makes the binding, the demo and the parts of bench/compare.py importable, from the source tree."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench"), str(Path(__file__).parent)]
