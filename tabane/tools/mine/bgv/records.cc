#include "tabane/tools/mine/bgv/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "tabane/crypto/secret.h"
#include "tabane/tools/mine/bgv/frame.h"

namespace tabane::mine::bgv {
namespace {

constexpr std::string_view kMagic = "tabanBGV";
constexpr std::uint32_t kInsecure = 1;

static_assert(kDigestBytes == kRecordTail);

// Identifies parameters.
std::array<char, 16> identity(const Parameters& parameters) {
  std::string text = fmt::format("{} {} {}", parameters.degree(), parameters.plaintext_modulus(),
                                 parameters.special_prime());
  for (const std::uint64_t q : parameters.primes()) text += fmt::format(" {}", q);
  const crypto::Sha256Sum sum = digest_of(text);
  std::array<char, 16> first;
  std::memcpy(first.data(), sum.data(), first.size());
  return first;
}

std::string_view kind_name(RecordKind kind) {
  switch (kind) {
    case RecordKind::parameters:
      return "parameters";
    case RecordKind::secret_key:
      return "a secret key";
    case RecordKind::evaluation_keys:
      return "evaluation keys";
    case RecordKind::ciphertext:
      return "a ciphertext";
  }
  return "something unknown";
}

FrameWriter begin_record(RecordKind kind, const Parameters& parameters, const KeyId& key,
                         std::size_t payload) {
  FrameWriter writer(kMagic, kRecordHead + payload + kRecordTail);
  writer.put(kFormatVersion);
  writer.put(kind);
  writer.put(parameters.secure() ? std::uint32_t{0} : kInsecure);
  writer.put(std::uint32_t{0});
  writer.put(identity(parameters));
  writer.put(key);
  writer.put(std::uint64_t{payload});
  return writer;
}

struct RecordHead {
  RecordKind kind{};
  KeyId key{};
  std::uint64_t bytes = 0;  // of the whole record
};

RecordHead read_head(std::string_view head, std::string_view name) {
  const auto fail = [&](const std::string& what) {
    throw core::Error(fmt::format("{}: {}", name, what));
  };
  if (head.size() < kMagic.size() || head.substr(0, kMagic.size()) != kMagic) {
    fail("neither a key nor ciphertexts of tabane mine");
  }
  if (head.size() < kRecordHead) fail("it is cut off");
  const auto version = value_at<std::uint32_t>(head, 8);
  if (version != kFormatVersion) {
    fail(fmt::format("it has format version {}; this program reads version {}", version,
                     kFormatVersion));
  }
  const auto payload = value_at<std::uint64_t>(head, 56);
  if (payload > std::uint64_t{1} << 40) fail("it is damaged: no record is as long as it says");
  return {.kind = value_at<RecordKind>(head, 12),
          .key = value_at<KeyId>(head, 40),
          .bytes = kRecordHead + payload + kRecordTail};
}

// Takes values of fixed size off a payload; every failure names the source.
class RecordReader {
 public:
  // Checks head, length and digest. context: whose parameters the record must have; null: any.
  RecordReader(std::string_view record, std::string_view name, RecordKind kind,
               const Context* context)
      : name_(name), head_(read_head(record, name)) {
    if (record.size() < head_.bytes) fail("it is cut off");
    if (record.size() > head_.bytes) fail("something stands behind its end");
    if (!has_right_digest(record)) fail("it is damaged: its checksum is wrong");
    if (head_.kind != kind) {
      fail(fmt::format("it holds {}, not {}", kind_name(head_.kind), kind_name(kind)));
    }
    if (context != nullptr &&
        value_at<std::array<char, 16>>(record, 24) != identity(context->parameters())) {
      fail("it was made with other parameters");
    }
    payload_ = record.substr(kRecordHead, record.size() - kRecordHead - kRecordTail);
  }

  const RecordHead& head() const { return head_; }
  std::size_t left() const { return payload_.size(); }

  template <class T>
  T get() {
    return value_at<T>(take(sizeof(T)), 0);
  }
  template <class T>
  void get_all(std::span<T> values) {
    std::memcpy(values.data(), take(values.size_bytes()).data(), values.size_bytes());
  }
  // Residues [part][N], of which part i is modulo the context's modulus i % moduli.
  void get_residues(const Context& context, std::size_t moduli, std::span<std::uint64_t> words) {
    get_all(words);
    const std::size_t n = context.degree();
    for (std::size_t part = 0; part < words.size() / n; ++part) {
      const std::uint64_t q = context.modulus(part % moduli).value();
      const auto residues = words.subspan(part * n, n);
      if (*std::ranges::max_element(residues) >= q) fail("it holds a number above its modulus");
    }
  }
  // Refuses a payload of which something is left.
  void finish() const {
    if (!payload_.empty()) fail("it is longer than its contents");
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw core::Error(fmt::format("{}: {}", name_, what));
  }

 private:
  std::string_view take(std::size_t bytes) {
    if (payload_.size() < bytes) fail("it is shorter than its contents need");
    const std::string_view taken = payload_.substr(0, bytes);
    payload_.remove_prefix(bytes);
    return taken;
  }

  std::string name_;
  RecordHead head_;
  std::string_view payload_;
};

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kCiphertextHead = 4 * kWord;

std::size_t key_words(const Context& context) {
  return context.primes() * context.moduli() * context.degree();
}

void put_switch_key(FrameWriter& writer, std::uint64_t exponent, const KeySwitchKey& key) {
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
  FrameWriter writer = begin_record(RecordKind::ciphertext, context.parameters(), c.key,
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
  FrameWriter writer = begin_record(RecordKind::parameters, parameters, KeyId{},
                                    (4 + parameters.primes().size()) * kWord);
  writer.put(std::uint64_t{parameters.degree()});
  writer.put(parameters.plaintext_modulus());
  writer.put(parameters.special_prime());
  writer.put(std::uint64_t{parameters.primes().size()});
  writer.put_all(std::span<const std::uint64_t>(parameters.primes()));
  return writer.finish();
}

std::string save(const SecretKey& key) {
  FrameWriter writer = begin_record(RecordKind::secret_key, key.context()->parameters(), key.id(),
                                    key.coefficients().size());
  writer.put_all(key.coefficients());
  return writer.finish();
}

std::string save(const Context& context, const EvaluationKeys& keys) {
  const std::size_t count = keys.rotations.size() + (keys.relinearisation ? 1 : 0);
  FrameWriter writer = begin_record(
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
  const crypto::WipedAtEnd end(coefficients);
  reader.get_all(std::span(coefficients));
  reader.finish();
  try {
    return SecretKey(context, reader.head().key, coefficients);
  } catch (const core::UsageError& error) {
    reader.fail(error.what());
  }
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
