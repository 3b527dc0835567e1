"""What bench/compare.py and the tuner share: shapes, error bounds, clocks, inputs with their float64 reference.

shapes, bounds and runs need nothing but Python; data and the GPU's clock need PyTorch.
"""
