extern "C" __global__ void __launch_bounds__(32, 1)
    reserved_names(const float *__restrict__ x, const int32_t n, float *__restrict__ y) {
  for (int new_1 = 0; new_1 < n; new_1++) {
    const int32_t int_1 = new_1 * 2;
    const int32_t v1st_value = int_1 + 1;
    y[v1st_value] = x[int_1];
  }
}
HCONV_REGISTER_KERNEL(reserved_names)
