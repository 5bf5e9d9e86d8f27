#include "tabane/tools/mine/bgv/key_switch.h"

#include <algorithm>

#include "tabane/tools/mine/bgv/polynomial.h"

namespace tabane::mine::bgv {
namespace {

// The sums over the digits modulo the primes in use and the special one, [component][place][N].
class DigitSums {
 public:
  DigitSums(const Context& context, std::size_t primes)
      : context_(context), primes_(primes), words_(2 * (primes + 1) * context.degree(), 0) {}

  std::size_t places() const { return primes_ + 1; }
  std::size_t modulus(std::size_t place) const {
    return place < primes_ ? place : context_.special();
  }
  Residues at(std::size_t component, std::size_t place) {
    const std::size_t n = context_.degree();
    return std::span(words_).subspan((component * places() + place) * n, n);
  }

 private:
  const Context& context_;
  std::size_t primes_;
  Words words_;
};

}  // namespace

void switch_key(const Context& context, const KeySwitchKey& key,
                std::span<const std::uint64_t> component, Ciphertext& sum) {
  const std::size_t n = context.degree(), primes = sum.primes(), moduli = context.moduli();
  DigitSums sums(context, primes);
  Words digit(n), lifted(n);
  for (std::size_t i = 0; i < primes; ++i) {
    const ConstResidues values = component.subspan(i * n, n);
    std::ranges::copy(values, digit.begin());
    context.ntt(i).inverse(digit);
    for (std::size_t place = 0; place < sums.places(); ++place) {
      const std::size_t j = sums.modulus(place);
      if (j != i) {
        lift_centred(context.modulus(i), digit, context.modulus(j), lifted);
        context.ntt(j).forward(lifted);
      }
      const ConstResidues factor = j == i ? values : ConstResidues(lifted);
      const std::size_t at = (i * moduli + j) * n;
      multiply_add(context.modulus(j), factor, std::span(key.b).subspan(at, n), sums.at(0, place));
      multiply_add(context.modulus(j), factor, std::span(key.a).subspan(at, n), sums.at(1, place));
    }
  }
  const ModulusDrop drop(context, context.special());
  for (std::size_t c = 0; c < 2; ++c) {
    drop.prepare(sums.at(c, primes));
    for (std::size_t j = 0; j < primes; ++j) {
      drop.divide(j, sums.at(c, primes), sums.at(c, j), lifted, sums.at(c, j));
      add(context.modulus(j), sum.residues(c, j), sums.at(c, j), sum.residues(c, j));
    }
  }
}

}  // namespace tabane::mine::bgv
