"""Parts of bench/compare.py. shapes, bounds and records need nothing but Python; the others need PyTorch."""
