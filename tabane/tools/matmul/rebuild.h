// From residues back to integers.
#pragma once

#include <gmp.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tabane/tools/matmul/moduli.h"

namespace tabane::matmul {

class Rebuild {
 public:
  explicit Rebuild(const Moduli& moduli);

  // How many integers at a time stay in the second cache.
  std::size_t block() const { return block_; }

  // Makes `count` integers, at most block(), of the residues residues[p * stride + i].
  void compute(const std::int32_t* residues, std::size_t stride, std::size_t count);
  // The i-th in two's complement, until the next compute(). It may be changed.
  std::span<mp_limb_t> integer(std::size_t i) {
    return std::span(integers_).subspan(i * limbs_, limbs_);
  }

 private:
  const Moduli& moduli_;
  std::size_t block_, limbs_;
  std::vector<double> wide_, digits_;
  std::vector<mp_limb_t> integers_;
};

}  // namespace tabane::matmul
