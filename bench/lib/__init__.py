"""Parts of bench/compare.py. records and variants need nothing but Python; the others need PyTorch."""
