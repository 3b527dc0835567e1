"""What bench/compare.py and the tuner share: shapes, arguments, error bounds, clocks, inputs with
their float64 reference.

shapes, arguments, bounds and runs need nothing but Python; data and the GPU's clock need PyTorch.
"""
