// The kernels without faults in one file: nvcc compiles it for the program that checks the emulator against a device.
#include "async_copy.cu"
#include "basics.cu"
#include "conv.cu"
#include "conversions.cu"
#include "tensor_core.cu"
#include "warpgroup.cu"
