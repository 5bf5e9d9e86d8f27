// FLINT's product of the same matrices, as balls of radius 0.
#pragma once

#include <memory>
#include <string>

#include "tabane/tools/matmul/matrix.h"

namespace tabane::bench {

class FlintProduct {
 public:
  FlintProduct(const matmul::Matrix& a, const matmul::Matrix& b);
  ~FlintProduct();

  static std::string missing();  // why there is none; empty: there is
  static std::string version();
  void multiply();

 private:
  struct Matrices;
  std::unique_ptr<Matrices> matrices_;
};

}  // namespace tabane::bench
