// Finds the edges of a disc. Build with CMake (see CMakeLists.txt), or with
//   g++ -std=c++17 edges.cpp -I PREFIX/include PREFIX/lib/libhconv.a -ldl -lpthread
#include <cmath>
#include <cstdio>
#include <hconv/hconv.hpp>
#include <vector>

int main() {
  const int size = 24;
  std::vector<float> image(size * size), edges(2 * size * size);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      image[i * size + j] = std::hypot(i - 11.5, j - 11.5) < 8 ? 1.0f : 0.0f;
  std::vector<float> sobel = {-1, 0, 1, -2, 0, 2, -1, 0, 1, -1, -2, -1, 0, 0, 0, 1, 2, 1};
  try {
    hconv::Tensor x(image.data(), {1, 1, size, size}), w(sobel.data(), {2, 1, 3, 3});
    hconv::Tensor y(edges.data(), {1, 2, size, size});
    hconv::conv2d(x, w, y, nullptr, {1, 1, 1, 1});
  } catch (const hconv::Error &error) {
    std::fprintf(stderr, "edges: %s\n", error.what());
    return 1;
  }
  for (int i = 0; i < size; ++i, std::puts(""))
    for (int j = 0; j < size; ++j)
      std::putchar(std::hypot(edges[i * size + j], edges[(size + i) * size + j]) > 0 ? '#' : '.');
}
