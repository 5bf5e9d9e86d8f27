#include "tabane/tools/mine/bgv/keys.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"

namespace tabane::mine::bgv {
namespace {

// Bytes of a stream in portions that stay in the first-level cache, wiped at the end.
class Portions {
 public:
  explicit Portions(RandomStream& random) : random_(random) {}
  ~Portions() { crypto::wipe(std::as_writable_bytes(std::span(bytes_))); }
  Portions(const Portions&) = delete;
  Portions& operator=(const Portions&) = delete;

  // At most `left` words of 64 bits, at least one.
  std::span<const std::uint8_t> words(std::size_t left) {
    const auto bytes = std::span(bytes_).first(std::min(bytes_.size(), 8 * left));
    random_.fill(bytes);
    return bytes;
  }

 private:
  RandomStream& random_;
  std::array<std::uint8_t, 4096> bytes_;
};

std::uint64_t little_endian(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// b = t e - a s, with the same small e modulo each modulus.
void mask(const SecretKey& secret, std::span<const std::int8_t> errors, std::size_t modulus,
          ConstResidues a, Residues b) {
  const Context& context = *secret.context();
  const Modulus& q = context.modulus(modulus);
  lift(q, errors, context.plaintext_modulus().value(), b);
  context.ntt(modulus).forward(b);
  Words product(context.degree());  // a s, from which s follows
  const crypto::WipedAtEnd end(product);
  multiply(q, a, secret.values(modulus), product);
  subtract(q, b, product, b);
}

// from: the secret that is led to s, as values, [prime][N].
KeySwitchKey switch_key(const SecretKey& secret, const Words& from, RandomStream& random) {
  const Context& context = *secret.context();
  const std::size_t n = context.degree(), digits = context.primes(), moduli = context.moduli();
  KeySwitchKey key{
      .seed = random.seed(), .b = Words(digits * moduli * n), .a = Words(digits * moduli * n)};
  expand(context, key.seed, digits, moduli, key.a);
  std::vector<std::int8_t> errors(n);
  Words scaled(n);  // P s^2, or P s rotated
  const crypto::WipedAtEnd end_of_errors(errors), end_of_scaled(scaled);
  for (std::size_t digit = 0; digit < digits; ++digit) {
    draw_errors(random, errors);
    for (std::size_t j = 0; j < moduli; ++j) {
      const std::size_t at = (digit * moduli + j) * n;
      mask(secret, errors, j, std::span(key.a).subspan(at, n), std::span(key.b).subspan(at, n));
    }
    const Modulus& q = context.modulus(digit);
    const Residues b = std::span(key.b).subspan((digit * moduli + digit) * n, n);
    scale(q, std::span(from).subspan(digit * n, n), q.reduce(context.parameters().special_prime()),
          scaled);
    add(q, b, scaled, b);
  }
  return key;
}

}  // namespace

KeyId fresh_key_id() {
  KeyId id;
  crypto::fill_random(std::as_writable_bytes(std::span(id)));
  return id;
}

RandomStream::RandomStream(const Seed& seed) {
  const std::array<std::uint8_t, 16> first{};
  crypto::require(cipher_ && EVP_EncryptInit_ex(cipher_.get(), EVP_aes_256_ctr(), nullptr,
                                                seed.data(), first.data()) == 1,
                  "random numbers");
}

RandomStream RandomStream::fresh() {
  Seed seed;
  const crypto::WipedAtEnd end(seed);
  crypto::fill_random(std::as_writable_bytes(std::span(seed)));
  return RandomStream(seed);
}

void RandomStream::fill(std::span<std::uint8_t> bytes) {
  std::ranges::fill(bytes, std::uint8_t{0});
  int written = 0;
  crypto::require(EVP_EncryptUpdate(cipher_.get(), bytes.data(), &written, bytes.data(),
                                    static_cast<int>(bytes.size())) == 1,
                  "random numbers");
}

Seed RandomStream::seed() {
  Seed seed;
  fill(seed);
  return seed;
}

void draw_uniform(RandomStream& random, const Modulus& modulus, std::span<std::uint64_t> values) {
  const std::uint64_t mask = std::bit_ceil(modulus.value()) - 1;
  Portions portions(random);
  for (std::size_t done = 0; done < values.size();) {
    const std::span<const std::uint8_t> bytes = portions.words(values.size() - done);
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = little_endian(bytes.data() + at) & mask;
      values[done] = word;
      done += word < modulus.value();
    }
  }
}

// Bytes below 252 are uniform modulo 3.
void draw_ternary(RandomStream& random, std::span<std::int8_t> values) {
  Portions portions(random);
  for (std::size_t done = 0; done < values.size();) {
    for (const std::uint8_t byte : portions.words((values.size() - done + 7) / 8)) {
      if (byte >= 252 || done == values.size()) continue;
      values[done++] = static_cast<std::int8_t>(byte % 3 - 1);
    }
  }
}

void draw_errors(RandomStream& random, std::span<std::int8_t> values) {
  constexpr std::uint64_t kBits = (std::uint64_t{1} << 21) - 1;
  Portions portions(random);
  for (std::size_t done = 0; done < values.size();) {
    const std::span<const std::uint8_t> bytes = portions.words(values.size() - done);
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = little_endian(bytes.data() + at);
      values[done++] =
          static_cast<std::int8_t>(std::popcount(word & kBits) - std::popcount(word >> 21 & kBits));
    }
  }
}

SecretKey SecretKey::generate(const SharedContext& context, const KeyId& id, RandomStream random) {
  std::vector<std::int8_t> coefficients(context->degree());
  const crypto::WipedAtEnd end(coefficients);
  draw_ternary(random, coefficients);
  return SecretKey(context, id, coefficients);
}

SecretKey::SecretKey(const SharedContext& context, const KeyId& id,
                     std::span<const std::int8_t> coefficients)
    : context_(context),
      id_(id),
      coefficients_(coefficients.begin(), coefficients.end()),
      values_(context->moduli() * context->degree()) {
  const auto is_ternary = [](std::int8_t c) { return c >= -1 && c <= 1; };
  if (coefficients.size() != context->degree() || !std::ranges::all_of(coefficients, is_ternary)) {
    throw core::UsageError("a secret key has {} coefficients of -1, 0 and 1", context->degree());
  }
  for (std::size_t j = 0; j < context->moduli(); ++j) {
    const Residues values = std::span(values_).subspan(j * context->degree(), context->degree());
    lift(context->modulus(j), coefficients, 1, values);
    context->ntt(j).forward(values);
  }
}

SecretKey::~SecretKey() {
  crypto::wipe(std::as_writable_bytes(std::span(coefficients_)));
  crypto::wipe(std::as_writable_bytes(std::span(values_)));
}

EvaluationKeys EvaluationKeys::generate(const SecretKey& secret, bool rotations,
                                        RandomStream random) {
  const Context& context = *secret.context();
  if (!context.parameters().has_special_prime()) {
    throw core::UsageError("these parameters have no special prime, so no evaluation keys");
  }
  const std::size_t n = context.degree();
  EvaluationKeys keys{.id = secret.id()};
  Words from(context.primes() * n);
  const crypto::WipedAtEnd end(from);
  const auto each_prime = [&](auto make) {
    for (std::size_t j = 0; j < context.primes(); ++j) make(j, std::span(from).subspan(j * n, n));
    return switch_key(secret, from, random);
  };
  keys.relinearisation = each_prime([&](std::size_t j, Residues out) {
    multiply(context.modulus(j), secret.values(j), secret.values(j), out);
  });
  const auto add_rotation = [&](std::uint64_t exponent) {
    const Automorphism automorphism(n, exponent);
    keys.rotations.emplace(exponent, each_prime([&](std::size_t j, Residues out) {
                             automorphism.apply(secret.values(j), out);
                           }));
  };
  if (!rotations) return keys;
  for (std::size_t steps = 1; steps < n / 2; steps *= 2) add_rotation(rotation_exponent(n, steps));
  add_rotation(exchange_exponent(n));
  return keys;
}

std::uint64_t rotation_exponent(std::size_t degree, std::size_t steps) {
  std::uint64_t exponent = 1;
  for (std::size_t i = 0; i < steps % (degree / 2); ++i) exponent = exponent * 3 & (2 * degree - 1);
  return exponent;
}

void expand(const Context& context, const Seed& seed, std::size_t digits, std::size_t moduli,
            std::span<std::uint64_t> a) {
  const std::size_t n = context.degree();
  RandomStream random(seed);
  for (std::size_t i = 0; i < digits * moduli; ++i) {
    draw_uniform(random, context.modulus(i % moduli), a.subspan(i * n, n));
  }
}

bool are_residues(const Context& context, std::size_t moduli, ConstResidues words) {
  const std::size_t n = context.degree();
  for (std::size_t part = 0; part < words.size() / n; ++part) {
    const std::uint64_t q = context.modulus(part % moduli).value();
    if (std::ranges::max(words.subspan(part * n, n)) >= q) return false;
  }
  return true;
}

bool is_valid(const Context& context, const Ciphertext& c) {
  return c.degree() == context.degree() && (c.components() == 2 || c.components() == 3) &&
         c.primes() >= 1 && c.primes() <= context.primes() &&
         c.words().size() == Ciphertext::size_of(c.degree(), c.components(), c.primes()) &&
         c.deviation >= 0 && c.deviation < 10000 && are_residues(context, c.primes(), c.words());
}

bool complete(const Context& context, EvaluationKeys& keys) {
  if (!context.parameters().has_special_prime()) return false;
  const std::size_t digits = context.primes(), moduli = context.moduli();
  const auto complete_one = [&](KeySwitchKey& key) {
    if (key.b.size() != digits * moduli * context.degree()) return false;
    if (!are_residues(context, moduli, key.b)) return false;
    key.a.resize(key.b.size());
    expand(context, key.seed, digits, moduli, key.a);
    return true;
  };
  if (keys.relinearisation && !complete_one(*keys.relinearisation)) return false;
  return std::ranges::all_of(keys.rotations, [&](auto& rotation) {
    auto& [exponent, key] = rotation;
    return exponent % 2 == 1 && exponent < 2 * context.degree() && complete_one(key);
  });
}

}  // namespace tabane::mine::bgv
