#include "tabane/tools/mine/scheme.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::mine {
namespace {

// 1 modulo 2 N for every N up to 32768, and enough for 65536 blocks.
constexpr std::uint64_t kUsualModulus = 65537;

// The largest number that a slot has to hold.
std::uint64_t most_in_slot(const Scheme& scheme, std::size_t transactions, std::size_t slots) {
  return scheme.hide_slots ? transactions : blocks_of(transactions, slots);
}

bgv::Need need_of(const Scheme& scheme, std::uint64_t least_modulus) {
  return {.depth = std::max(depth_of(scheme.most_length), 1),
          .least_plaintext_modulus = least_modulus,
          .values = scheme.transactions,
          .sum_slots = scheme.hide_slots,
          .degree = scheme.degree,
          .allow_insecure = scheme.allow_insecure};
}

}  // namespace

bgv::Parameters choose_parameters(const Scheme& scheme) {
  std::uint64_t least = kUsualModulus;
  if (scheme.hide_slots) least = std::max(least, scheme.transactions + 1);
  bgv::Parameters parameters = bgv::Parameters::choose(need_of(scheme, least));
  const std::uint64_t most = most_in_slot(scheme, scheme.transactions, parameters.slots());
  if (most < parameters.plaintext_modulus()) return parameters;
  // Another degree would need another modulus; this one is known to be needed.
  Scheme same = scheme;
  same.degree = parameters.degree();
  return bgv::Parameters::choose(need_of(same, most + 1));
}

void check_capacity(const bgv::Parameters& parameters, const Scheme& scheme,
                    std::size_t transactions) {
  const std::uint64_t modulus = parameters.plaintext_modulus();
  const std::uint64_t most = most_in_slot(scheme, transactions, parameters.slots());
  if (most >= modulus) {
    throw core::UsageError(fmt::format(
        "{} transactions are more than the plaintext modulus {} can count: a modulus above {} is "
        "needed; make keys with --transactions {}",
        transactions, modulus, most, transactions));
  }
  Scheme wanted = scheme;
  wanted.transactions = transactions;
  wanted.degree = parameters.degree();
  if (bgv::spare_bits(parameters, need_of(wanted, modulus)) < 0) {
    throw core::UsageError(fmt::format(
        "the noise of {} transactions would be too large for these keys, which are made for {}: "
        "make keys with --transactions {}",
        transactions, scheme.transactions, transactions));
  }
}

}  // namespace tabane::mine
