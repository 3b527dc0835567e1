extern "C" __global__ void __launch_bounds__(32, 1)
    shadowed_names(const float *__restrict__ x, const int32_t n, float *__restrict__ y) {
  const int32_t t = 1;
  y[t] = 1.0f;
  {
    const int32_t t = 2;
    y[t] = 2.0f;
  }
  {
    const int32_t t = 3;
    const int32_t inner = t + 1;
    y[inner] = 4.0f;
    y[t] = 3.0f;
    for (int i = 0; i < 2; i++) {
      {
        const int32_t t = 5;
        y[t] = 5.0f;
      }
      y[t] = 3.5f;
    }
    y[t] = 3.25f;
  }
  float a[6];
  a[0] = 6.0f;
  y[6] = a[0];
  {
    float a[7];
    a[0] = 7.0f;
    y[7] = a[0];
  }
}
HCONV_REGISTER_KERNEL(shadowed_names)
