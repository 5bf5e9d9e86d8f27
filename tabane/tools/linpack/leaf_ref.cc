#include <cmath>

#include "tabane/tools/linpack/leaf.h"

namespace tabane::linpack {

Pivot eliminate_ref(double* a, std::ptrdiff_t ld, int rows, int columns, double pivot,
                    const double* u) {
  Pivot next;
  for (int i = 0; i < rows; ++i) {
    a[i] /= pivot;
    for (int j = 1; j < columns; ++j) a[i + j * ld] -= a[i] * u[j - 1];
    if (columns > 1 && std::abs(a[i + ld]) > next.magnitude) next = {std::abs(a[i + ld]), i};
  }
  return next;
}

}  // namespace tabane::linpack
