#include "tabane/tools/mine/bgv/serialise.h"

#include <cmath>
#include <limits>

#include "tabane/tools/mine/bgv/record.h"
#include "tabane/tools/mine/bgv/wiped.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kCiphertextHead = 4 * kWord;

std::size_t key_words(const Context& context) {
  return context.primes() * context.moduli() * context.degree();
}

void put_switch_key(RecordWriter& writer, std::uint64_t exponent, const KeySwitchKey& key) {
  writer.put(exponent);
  writer.put(key.seed);
  writer.put_all(std::span<const std::uint64_t>(key.b));
}

KeySwitchKey get_switch_key(RecordReader& reader, const Context& context) {
  KeySwitchKey key{
      .seed = reader.get<Seed>(), .b = Words(key_words(context)), .a = Words(key_words(context))};
  reader.get_residues(context, context.moduli(), key.b);
  expand(context, key.seed, context.primes(), context.moduli(), key.a);
  return key;
}

std::string save_ciphertext(const Context& context, const CiphertextView& c,
                            const std::optional<Seed>& seed) {
  const std::size_t all = c.components * c.primes * c.degree;
  const std::size_t words = seed ? c.primes * c.degree : all;
  RecordWriter writer(RecordKind::ciphertext, context.parameters(), c.key,
                      kCiphertextHead + (seed ? seed->size() : 0) + words * kWord);
  writer.put(std::uint64_t{c.components});
  writer.put(std::uint64_t{c.primes});
  writer.put(std::uint64_t{seed ? 1u : 0u});
  writer.put(c.deviation);
  if (seed) writer.put(*seed);
  writer.put_all(std::span(c.words, words));
  return writer.finish();
}

}  // namespace

std::string save(const Parameters& parameters) {
  RecordWriter writer(RecordKind::parameters, parameters, KeyId{},
                      (4 + parameters.primes().size()) * kWord);
  writer.put(std::uint64_t{parameters.degree()});
  writer.put(parameters.plaintext_modulus());
  writer.put(parameters.special_prime());
  writer.put(std::uint64_t{parameters.primes().size()});
  writer.put_all(std::span<const std::uint64_t>(parameters.primes()));
  return writer.finish();
}

std::string save(const SecretKey& key) {
  RecordWriter writer(RecordKind::secret_key, key.context()->parameters(), key.id(),
                      key.coefficients().size());
  writer.put_all(key.coefficients());
  return writer.finish();
}

std::string save(const Context& context, const PublicKey& key) {
  RecordWriter writer(RecordKind::public_key, context.parameters(), key.id,
                      key.seed.size() + key.b.size() * kWord);
  writer.put(key.seed);
  writer.put_all(std::span<const std::uint64_t>(key.b));
  return writer.finish();
}

std::string save(const Context& context, const EvaluationKeys& keys) {
  const std::size_t count = keys.rotations.size() + (keys.relinearisation ? 1 : 0);
  RecordWriter writer(
      RecordKind::evaluation_keys, context.parameters(), keys.id,
      2 * kWord + count * (kWord + std::tuple_size_v<Seed> + key_words(context) * kWord));
  writer.put(std::uint64_t{keys.relinearisation ? 1u : 0u});
  writer.put(std::uint64_t{keys.rotations.size()});
  if (keys.relinearisation) put_switch_key(writer, 0, *keys.relinearisation);
  for (const auto& [exponent, key] : keys.rotations) put_switch_key(writer, exponent, key);
  return writer.finish();
}

std::string save(const Context& context, const CiphertextView& c) {
  return save_ciphertext(context, c, std::nullopt);
}

std::string save(const Context& context, const Ciphertext& c) {
  return save_ciphertext(context, c, c.seed);
}

Parameters load_parameters(std::string_view record, std::string_view name, bool allow_insecure) {
  RecordReader reader(record, name, RecordKind::parameters, nullptr);
  ParameterValues values{.allow_insecure = true};
  values.degree = reader.get<std::uint64_t>();
  values.plaintext_modulus = reader.get<std::uint64_t>();
  values.special_prime = reader.get<std::uint64_t>();
  const auto primes = reader.get<std::uint64_t>();
  if (primes * kWord != reader.left()) reader.fail("its number of primes is wrong");
  values.primes.resize(primes);
  reader.get_all(std::span(values.primes));
  reader.finish();
  try {
    Parameters parameters(values);
    if (parameters.secure() || allow_insecure) return parameters;
  } catch (const core::UsageError& error) {
    reader.fail(error.what());
  }
  values.allow_insecure = false;
  return Parameters(values);  // throws, saying why
}

SecretKey load_secret_key(std::string_view record, std::string_view name,
                          const SharedContext& context) {
  RecordReader reader(record, name, RecordKind::secret_key, context.get());
  std::vector<std::int8_t> coefficients(context->degree());
  const WipedAtEnd end(coefficients);
  reader.get_all(std::span(coefficients));
  reader.finish();
  try {
    return SecretKey(context, reader.head().key, coefficients);
  } catch (const core::UsageError& error) {
    reader.fail(error.what());
  }
}

PublicKey load_public_key(std::string_view record, std::string_view name, const Context& context) {
  RecordReader reader(record, name, RecordKind::public_key, &context);
  const std::size_t words = context.primes() * context.degree();
  PublicKey key{
      .id = reader.head().key, .seed = reader.get<Seed>(), .b = Words(words), .a = Words(words)};
  reader.get_residues(context, context.primes(), key.b);
  reader.finish();
  expand(context, key.seed, 1, context.primes(), key.a);
  return key;
}

EvaluationKeys load_evaluation_keys(std::string_view record, std::string_view name,
                                    const Context& context) {
  RecordReader reader(record, name, RecordKind::evaluation_keys, &context);
  const auto relinearisation = reader.get<std::uint64_t>(), rotations = reader.get<std::uint64_t>();
  if (relinearisation > 1 || rotations > context.degree()) reader.fail("its counts are wrong");
  EvaluationKeys keys{.id = reader.head().key};
  for (std::uint64_t i = 0; i < relinearisation + rotations; ++i) {
    const auto exponent = reader.get<std::uint64_t>();
    const bool first = i < relinearisation;
    if (first != (exponent == 0) || exponent >= 2 * context.degree() ||
        (!first && (exponent % 2 == 0 || keys.rotations.contains(exponent)))) {
      reader.fail("it holds a key that is none");
    }
    KeySwitchKey key = get_switch_key(reader, context);
    if (first) {
      keys.relinearisation = std::move(key);
    } else {
      keys.rotations.emplace(exponent, std::move(key));
    }
  }
  reader.finish();
  return keys;
}

Ciphertext load_ciphertext(std::string_view record, std::string_view name, const Context& context) {
  RecordReader reader(record, name, RecordKind::ciphertext, &context);
  const auto components = reader.get<std::uint64_t>(), primes = reader.get<std::uint64_t>();
  const auto seeded = reader.get<std::uint64_t>();
  const auto deviation = reader.get<double>();
  if (components < 2 || components > 3 || primes < 1 || primes > context.primes() || seeded > 1 ||
      (seeded == 1 && (components != 2 || primes != context.primes()))) {
    reader.fail("it holds a ciphertext that is none");
  }
  if (!(deviation >= 0 && deviation < 10000)) reader.fail("its estimate of noise is none");
  std::optional<Seed> seed;
  if (seeded == 1) seed = reader.get<Seed>();
  const std::size_t stored = (seed ? 1 : components) * primes * context.degree();
  if (reader.left() != stored * kWord) reader.fail("its length is wrong");
  Ciphertext c(context.degree(), components, primes);
  reader.get_residues(context, primes, c.words().first(stored));
  reader.finish();
  if (seed) expand(context, *seed, 1, primes, c.words().subspan(stored));
  c.deviation = deviation;
  c.key = reader.head().key;
  c.seed = seed;
  return c;
}

}  // namespace tabane::mine::bgv
