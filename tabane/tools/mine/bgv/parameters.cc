#include "tabane/tools/mine/bgv/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/modulus.h"
#include "tabane/tools/mine/bgv/noise.h"
#include "tabane/tools/mine/bgv/security.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::size_t kLeastDegree = 32, kMostDegree = 32768, kMostPrimes = 16;
// Smaller primes would bring more of them and nothing else.
constexpr int kLeastPrimeBits = 36;
// What the model may be wrong by, as the choice goes.
constexpr double kReserveBits = 4;

void check_prime(const char* name, std::uint64_t prime, std::uint64_t step) {
  if (prime >> kMaxModulusBits != 0 || !is_prime(prime) || prime % step != 1) {
    throw core::UsageError(fmt::format("{} is a prime below 2^{} that is 1 modulo {}, not {}", name,
                                       kMaxModulusBits, step, prime));
  }
}

void check_degree(std::size_t degree) {
  if (!std::has_single_bit(degree) || degree < kLeastDegree || degree > kMostDegree) {
    throw core::UsageError(fmt::format("the degree is a power of two from {} to {}, not {}",
                                       kLeastDegree, kMostDegree, degree));
  }
}

void check(const ParameterValues& values) {
  check_degree(values.degree);
  const std::uint64_t t = values.plaintext_modulus;
  check_prime("the plaintext modulus", t, 2 * values.degree);
  if (t >= std::uint64_t{1} << 32) {
    throw core::UsageError(fmt::format("the plaintext modulus is below 2^32, not {}", t));
  }
  if (values.primes.empty() || values.primes.size() > kMostPrimes) {
    throw core::UsageError(fmt::format("the ciphertext modulus has from 1 to {} primes, not {}",
                                       kMostPrimes, values.primes.size()));
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
bool switches_keys(const Need& need) { return need.depth > 1 || need.sum_slots; }

std::optional<Parameters> with_primes(const Need& need, std::size_t degree, std::uint64_t t,
                                      std::size_t count, int bits) {
  const std::size_t all = count + (switches_keys(need) ? 1 : 0);
  ParameterValues values{.degree = degree, .plaintext_modulus = t, .allow_insecure = true};
  values.primes = primes_one_modulo(std::lcm(2 * degree, t), bits, all);
  if (values.primes.size() < all) return std::nullopt;
  if (switches_keys(need)) {  // the largest
    values.special_prime = values.primes.front();
    values.primes.erase(values.primes.begin());
  }
  Parameters parameters(std::move(values));
  if (!parameters.secure() && !need.allow_insecure) return std::nullopt;
  if (spare_bits(parameters, need) < kReserveBits) return std::nullopt;
  return parameters;
}

std::optional<Parameters> with_degree(const Need& need, std::size_t degree) {
  const std::uint64_t t = next_prime_one_modulo(
      2 * degree, std::max<std::uint64_t>(need.least_plaintext_modulus, 2) - 1);
  if (t >> 32 != 0) return std::nullopt;
  const auto least = static_cast<std::size_t>(need.depth);
  for (std::size_t count = least; count < kMostPrimes; ++count) {
    for (int bits = kMaxModulusBits; bits >= kLeastPrimeBits; --bits) {
      if (auto parameters = with_primes(need, degree, t, count, bits)) return parameters;
    }
  }
  return std::nullopt;
}

}  // namespace

Parameters::Parameters(ParameterValues values) : values_(std::move(values)) {
  check(values_);
  if (!secure() && !values_.allow_insecure) {
    throw core::UsageError(fmt::format(
        "these parameters are insecure: degree {} allows a modulus of {} bits, not {:.1f} "
        "(--insecure-parameters takes them, and marks every output)",
        degree(), max_modulus_bits(degree()), modulus_bits()));
  }
}

double Parameters::modulus_bits() const {
  double bits = has_special_prime() ? std::log2(special_prime()) : 0;
  for (const std::uint64_t q : primes()) bits += std::log2(q);
  return bits;
}

bool Parameters::secure() const { return modulus_bits() <= max_modulus_bits(degree()); }

std::string Parameters::text() const {
  const std::string limit =
      max_modulus_bits(degree()) == 0
          ? std::string("the security table does not have this degree")
          : fmt::format("128-bit security needs at most {}", max_modulus_bits(degree()));
  return fmt::format("N = {}, t = {}, {} prime{}{}, {:.1f} bits ({}){}", degree(),
                     plaintext_modulus(), primes().size(), primes().size() == 1 ? "" : "s",
                     has_special_prime() ? " and a special one" : "", modulus_bits(), limit,
                     secure() ? "" : ", INSECURE");
}

Parameters Parameters::choose(const Need& need) {
  if (need.depth < 1 || need.depth > 12) {
    throw core::UsageError(fmt::format("the depth is from 1 to 12, not {}", need.depth));
  }
  if (need.degree != 0) check_degree(need.degree);
  for (const SecurityLimit& row : security_table()) {
    if (need.degree != 0) break;
    if (auto parameters = with_degree(need, row.degree)) return *parameters;
  }
  if (need.degree != 0) {
    if (auto parameters = with_degree(need, need.degree)) return *parameters;
  }
  Need insecure = need;
  insecure.allow_insecure = true;
  if (need.degree != 0 && with_degree(insecure, need.degree)) {
    throw core::UsageError(fmt::format(
        "degree {} would be insecure for this depth and plaintext modulus: take a larger one, or "
        "--insecure-parameters, which marks every output",
        need.degree));
  }
  throw core::UsageError(fmt::format(
      "no parameters suffice for depth {} with a plaintext modulus from {}{}: take less of them",
      need.depth, need.least_plaintext_modulus,
      need.degree == 0 ? "" : fmt::format(" and degree {}", need.degree)));
}

double spare_bits(const Parameters& parameters, const Need& need) {
  const NoiseModel model(parameters.degree(), parameters.plaintext_modulus());
  const auto& primes = parameters.primes();
  if (static_cast<std::size_t>(need.depth) > primes.size()) return -1;
  std::size_t count = primes.size();
  const auto bits = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += std::log2(primes[i]);
    return sum;
  };
  const auto key_switch = [&] {
    return model.key_switch({primes.data(), count}, parameters.special_prime());
  };
  double fresh = model.fresh_public_key(), prefix = fresh, spare = bits() - needed_bits(fresh);
  for (int level = 1; level < need.depth; ++level) {
    prefix = model.sum(model.product(prefix, fresh), key_switch());
    spare = std::min(spare, bits() - needed_bits(prefix));
    const double dropped = std::log2(primes[--count]);
    prefix = model.switched(prefix, dropped, 2);
    fresh = model.switched(fresh, dropped, 2);
  }
  double total = model.product(prefix, fresh);
  const double n = static_cast<double>(parameters.degree());
  total += std::log2(std::ceil(std::max(1.0, static_cast<double>(need.values) / n)));
  if (need.sum_slots) {
    total = model.sum(total, key_switch());
    for (std::size_t i = 1; i < parameters.degree(); i *= 2) {
      total = model.sum(total, model.sum(total, key_switch()));
    }
  }
  return std::min(spare, bits() - needed_bits(total));
}

}  // namespace tabane::mine::bgv
