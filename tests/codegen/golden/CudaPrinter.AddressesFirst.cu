extern "C" __global__ void __launch_bounds__(32, 1)
    addresses_first(const float *__restrict__ x, const int32_t n, float *__restrict__ y) {
  for (int i = 0; i < 8; i++) {
    y[i] = i > 2 ? hconv::load_if(i < n, x + i * 3, 0.0f) : 1.0f;
  }
}
HCONV_REGISTER_KERNEL(addresses_first)
