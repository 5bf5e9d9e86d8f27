#include "tabane/tools/mine/bgv/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::size_t kLeastDegree = 32, kMostDegree = 32768, kMostPrimes = 16;
// Smaller primes would bring more of them and nothing else.
constexpr int kLeastPrimeBits = 36;
// What the model may be wrong by, as the choice goes.
constexpr double kReserveBits = 4;

// The bits of the modulus by degree.
constexpr std::pair<std::size_t, int> kSecurityTable[] = {{1024, 26},  {2048, 53},   {4096, 106},
                                                          {8192, 214}, {16384, 430}, {32768, 868}};

void check_prime(const char* name, std::uint64_t prime, std::uint64_t step) {
  if (prime >> kMaxModulusBits != 0 || !is_prime(prime) || prime % step != 1) {
    throw core::UsageError("{} is a prime below 2^{} that is 1 modulo {}, not {}", name,
                           kMaxModulusBits, step, prime);
  }
}

void check_degree(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < kLeastDegree || degree > kMostDegree) {
    throw core::UsageError("the degree is a power of two from {} to {}, not {}", kLeastDegree,
                           kMostDegree, degree);
  }
}

void check(const ParameterValues& values) {
  check_degree(values.degree);
  const std::uint64_t t = values.plaintext_modulus;
  check_prime("the plaintext modulus", t, 2 * values.degree);
  if (t >= std::uint64_t{1} << 32) {
    throw core::UsageError("the plaintext modulus is below 2^32, not {}", t);
  }
  if (values.primes.empty() || values.primes.size() > kMostPrimes) {
    throw core::UsageError("the ciphertext modulus has from 1 to {} primes, not {}", kMostPrimes,
                           values.primes.size());
  }
  std::vector<std::uint64_t> all = values.primes;
  if (values.special_prime != 0) all.push_back(values.special_prime);
  for (const std::uint64_t prime : all) {
    check_prime("a prime of the ciphertext modulus", prime, std::lcm(2 * values.degree, t));
  }
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end()) {
    throw core::UsageError("the primes of the ciphertext modulus must differ");
  }
}

// Whether a computation switches keys, which takes the special prime.
bool switches_keys(const Computation& computation) {
  return computation.depth > 1 || computation.sum_slots;
}

std::optional<Parameters> with_primes(const Computation& computation, std::size_t degree,
                                      std::uint64_t t, std::size_t count, int bits) {
  const std::size_t all = count + (switches_keys(computation) ? 1 : 0);
  ParameterValues values{.degree = degree, .plaintext_modulus = t, .allow_insecure = true};
  values.primes = primes_one_modulo(std::lcm(2 * degree, t), bits, all);
  if (values.primes.size() < all) return std::nullopt;
  if (switches_keys(computation)) {  // the largest
    values.special_prime = values.primes.front();
    values.primes.erase(values.primes.begin());
  }
  Parameters parameters(std::move(values));
  if (!parameters.secure() && !computation.allow_insecure) return std::nullopt;
  if (spare_bits(parameters, computation) < kReserveBits) return std::nullopt;
  return parameters;
}

std::optional<Parameters> with_degree(const Computation& computation, std::size_t degree) {
  const std::uint64_t t = next_prime_one_modulo(
      2 * degree, std::max<std::uint64_t>(computation.least_plaintext_modulus, 2) - 1);
  if (t >> 32 != 0) return std::nullopt;
  const auto least = static_cast<std::size_t>(computation.depth);
  for (std::size_t count = least; count < kMostPrimes; ++count) {
    for (int bits = kMaxModulusBits; bits >= kLeastPrimeBits; --bits) {
      if (auto parameters = with_primes(computation, degree, t, count, bits)) return parameters;
    }
  }
  return std::nullopt;
}

constexpr double kTernaryVariance = 2.0 / 3;

// log2 sqrt(2^2a + 2^2b).
double together(double a, double b) {
  const double most = std::fmax(a, b), least = std::fmin(a, b);
  return most + 0.5 * std::log2(1 + std::exp2(2 * (least - most)));
}

}  // namespace

Parameters::Parameters(ParameterValues values) : values_(std::move(values)) {
  check(values_);
  if (!secure() && !values_.allow_insecure) {
    throw core::UsageError(
        "these parameters are insecure: degree {} allows a modulus of {} bits, not {:.1f} "
        "(--insecure-parameters takes them, and marks every output)",
        degree(), max_modulus_bits(degree()), modulus_bits());
  }
}

double Parameters::modulus_bits() const {
  double bits = has_special_prime() ? std::log2(special_prime()) : 0;
  for (const std::uint64_t q : primes()) bits += std::log2(q);
  return bits;
}

bool Parameters::secure() const { return modulus_bits() <= max_modulus_bits(degree()); }

Parameters Parameters::choose(const Computation& computation) {
  if (computation.depth < 1 || computation.depth > 12) {
    throw core::UsageError("the depth is from 1 to 12, not {}", computation.depth);
  }
  if (computation.degree != 0) {
    check_degree(computation.degree);
    if (auto parameters = with_degree(computation, computation.degree)) return *parameters;
  }
  for (const auto& [degree, bits] : kSecurityTable) {
    if (computation.degree != 0) break;
    if (auto parameters = with_degree(computation, degree)) return *parameters;
  }
  Computation insecure = computation;
  insecure.allow_insecure = true;
  if (computation.degree != 0 && with_degree(insecure, computation.degree)) {
    throw core::UsageError(
        "degree {} would be insecure for this depth and plaintext modulus: take a larger one, or "
        "--insecure-parameters, which marks every output",
        computation.degree);
  }
  throw core::UsageError(
      "no parameters suffice for depth {} with a plaintext modulus from {}{}: take less of them",
      computation.depth, computation.least_plaintext_modulus,
      computation.degree == 0 ? "" : fmt::format(" and degree {}", computation.degree));
}

double spare_bits(const Parameters& parameters, const Computation& computation) {
  const NoiseModel model(parameters.degree(), parameters.plaintext_modulus());
  const auto& primes = parameters.primes();
  if (static_cast<std::size_t>(computation.depth) > primes.size()) return -1;
  std::size_t count = primes.size();
  const auto bits = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += std::log2(primes[i]);
    return sum;
  };
  const auto key_switch = [&] {
    return model.key_switch({primes.data(), count}, parameters.special_prime());
  };
  double fresh = model.fresh(), prefix = fresh, spare = bits() - needed_bits(fresh);
  for (int level = 1; level < computation.depth; ++level) {
    prefix = model.sum(model.product(prefix, fresh), key_switch());
    spare = std::min(spare, bits() - needed_bits(prefix));
    const double dropped = std::log2(primes[--count]);
    prefix = model.switched(prefix, dropped, 2);
    fresh = model.switched(fresh, dropped, 2);
  }
  double total = model.product(prefix, fresh);
  const double n = static_cast<double>(parameters.degree());
  total += std::log2(std::ceil(std::max(1.0, static_cast<double>(computation.values) / n)));
  if (computation.sum_slots) {
    total = model.sum(total, key_switch());
    for (std::size_t i = 1; i < parameters.degree(); i *= 2) {
      total = model.sum(total, model.sum(total, key_switch()));
    }
  }
  return std::min(spare, bits() - needed_bits(total));
}

int max_modulus_bits(std::size_t degree) {
  for (const auto& [of, bits] : kSecurityTable) {
    if (of == degree) return bits;
  }
  return 0;
}

NoiseModel::NoiseModel(std::size_t degree, std::uint64_t plaintext_modulus)
    : n_(static_cast<double>(degree)),
      t_(static_cast<double>(plaintext_modulus)),
      product_growth_(0.5 * std::log2(n_)) {}

// The phase is m + t e, with m uniform modulo t.
double NoiseModel::fresh() const { return 0.5 * std::log2(t_ * t_ * (kErrorVariance + 1.0 / 12)); }

double NoiseModel::sum(double a, double b) const { return std::log2(std::exp2(a) + std::exp2(b)); }

double NoiseModel::product(double a, double b) const { return a + b + product_growth_; }

// delta is uniform in t times (-q/2, q/2), for each component; over q it is t / sqrt(12), and meets
// 1, s and s^2, whose coefficients have variances of 2/3 and about 4/9 N.
double NoiseModel::rounding_variance(int components) const {
  double with_secret = 1 + n_ * kTernaryVariance;
  if (components > 2) with_secret += n_ * n_ * kTernaryVariance * kTernaryVariance;
  return t_ * t_ / 12 * with_secret;
}

double NoiseModel::switched(double a, double prime_bits, int components) const {
  return together(a - prime_bits, 0.5 * std::log2(rounding_variance(components)));
}

// sum over the digits of d_i t e_i / P with d_i uniform in (-q_i/2, q_i/2).
double NoiseModel::key_switch(std::span<const std::uint64_t> digits, std::uint64_t special) const {
  double digits_variance = 0;
  for (const std::uint64_t q : digits) {
    const double over = static_cast<double>(q) / static_cast<double>(special);
    digits_variance += over * over / 12;
  }
  return 0.5 * std::log2(n_ * digits_variance * kErrorVariance * t_ * t_ + rounding_variance(2));
}

double needed_bits(double deviation) { return deviation + std::log2(2 * kDeviations); }

Context::Context(Parameters parameters)
    : parameters_(std::move(parameters)),
      plaintext_ntt_(parameters_.degree(), Modulus(parameters_.plaintext_modulus())),
      noise_(parameters_.degree(), parameters_.plaintext_modulus()) {
  for (const std::uint64_t q : parameters_.primes()) ntts_.emplace_back(degree(), Modulus(q));
  if (parameters_.has_special_prime()) {
    ntts_.emplace_back(degree(), Modulus(parameters_.special_prime()));
  }
}

}  // namespace tabane::mine::bgv
