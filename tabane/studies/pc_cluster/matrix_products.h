// Products of square matrices, as the cluster report times them: by DGEMM, and by the loop that one
// writes down.
#pragma once

#include <vector>

namespace tabane::lab {

// A of random numbers times the square root of 2, B times that of 3, and C = A B.
class MatrixProducts {
 public:
  // most: the largest n. Smaller matrices take the first elements.
  explicit MatrixProducts(int most);

  // Seconds of a product of n x n matrices. cost: twice a millisecond or a product.
  double dgemm_seconds(int n);
  // B is read column by column. Of large matrices some rows are timed, since all take the same.
  double triple_loop_seconds(int n);

  const std::vector<double>& c() const { return c_; }

 private:
  std::vector<double> a_, b_, c_;
};

}  // namespace tabane::lab
