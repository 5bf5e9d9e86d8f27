#include "tabane/tools/mine/client.h"

#include <algorithm>
#include <tuple>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/files.h"

namespace tabane::mine {

Client Client::with_new_keys(const KeySpec& spec) {
  return Client(spec, bgv::SecretKey::generate(bgv::make_context(choose_parameters(spec))));
}

PublicKeys Client::public_keys() const {
  PublicKeys keys{.spec = spec_,
                  .id = id(),
                  .parameters = context()->parameters().values(),
                  .evaluation = {},
                  .context = context()};
  if (context()->parameters().has_special_prime()) {
    keys.evaluation = bgv::EvaluationKeys::generate(key_, spec_.hide_slots);
  }
  return keys;
}

bgv::Ciphertext Client::encrypt(const Bitmaps& bitmaps, std::size_t item, std::size_t block) const {
  const std::size_t begin = block * encoder_.slots();
  std::vector<std::uint64_t> bits(std::min(encoder_.slots(), bitmaps.transactions() - begin));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = bitmaps.has(item, begin + i) ? 1 : 0;
  return bgv::encrypt(key_, encoder_.encode(bits));
}

std::uint64_t Client::support(const bgv::CiphertextView& sum) const {
  const bgv::Plaintext plaintext = bgv::decrypt(key_, sum);
  if (!spec_.hide_slots) return encoder_.sum(plaintext);
  const std::vector<std::uint64_t> slots = encoder_.decode(plaintext);
  if (std::ranges::adjacent_find(slots, std::ranges::not_equal_to{}) == slots.end()) {
    return slots[0];
  }
  throw core::Error("the slots of a count differ, though the server was to sum them");
}

void encrypt_blocks(const Client& client, const Bitmaps& bitmaps, std::size_t first,
                    EncryptedDatabase& to, team::Team& threads) {
  threads.map<bool>(to.items() * to.blocks(), [&](std::size_t i) {
    const std::size_t item = i % to.items(), block = i / to.items();
    const bgv::Ciphertext made = client.encrypt(bitmaps, item, first + block);
    std::ranges::copy(made.words(), to.words(item, block).begin());
    return true;
  });
}

EncryptedDatabase encrypt(const Client& client, const Bitmaps& bitmaps, team::Team& threads) {
  const bgv::Parameters& parameters = client.context()->parameters();
  check_capacity(parameters, client.spec(), bitmaps.transactions());
  EncryptedDatabase database(
      client.context(), client.id(),
      {.items = bitmaps.items(), .blocks = blocks_of(bitmaps.transactions(), parameters.slots())});
  encrypt_blocks(client, bitmaps, 0, database, threads);
  return database;
}

std::vector<std::uint64_t> decrypt(const Client& client, std::span<const bgv::Ciphertext> sums,
                                   team::Team& threads) {
  return threads.map<std::uint64_t>(sums.size(),
                                    [&](std::size_t i) { return client.support(sums[i]); });
}

namespace {

struct StoredSecretKey {
  KeySpec spec;
  bgv::ParameterValues parameters;
  bgv::KeyId id{};
  std::vector<std::int8_t> coefficients;

  StoredSecretKey() = default;
  ~StoredSecretKey() { crypto::wipe(std::as_writable_bytes(std::span(coefficients))); }
  StoredSecretKey(StoredSecretKey&&) = default;
  StoredSecretKey& operator=(StoredSecretKey&&) = delete;
  auto fields() { return std::tie(spec, parameters, id, coefficients); }
};

// Calls f, and names the file in what it refuses.
template <class F>
auto naming(const std::filesystem::path& path, const F& f) {
  try {
    return f();
  } catch (const core::UsageError& error) {
    throw core::UsageError("{}: {}", path.string(), error.what());
  }
}

// Insecure parameters had to be allowed when the keys were made. Others rely on the check: a
// product of the greatest depth must leave a prime.
bgv::SharedContext context_of(const KeySpec& spec, bgv::ParameterValues values) {
  values.allow_insecure = true;
  bgv::SharedContext context = bgv::make_context(bgv::Parameters(std::move(values)));
  if (spec.most_length >= 1 && spec.most_length <= kLongestItemset &&
      static_cast<std::size_t>(depth_of(spec.most_length)) <= context->primes()) {
    return context;
  }
  throw core::UsageError(
      "says that its keys are made for itemsets of up to {} items, which they cannot be",
      spec.most_length);
}

}  // namespace

void write_secret_key(const std::filesystem::path& path, const Client& client) {
  constexpr std::size_t kOtherBytes = 1024;  // at least
  const auto coefficients = client.secret_key().coefficients();
  StoredSecretKey stored;
  stored.spec = client.spec();
  stored.parameters = client.context()->parameters().values();
  stored.id = client.id();
  stored.coefficients.assign(coefficients.begin(), coefficients.end());
  team::Bytes bytes;
  bytes.reserve(coefficients.size() + kOtherBytes);  // growth would leave unwiped copies
  team::put_value(bytes, stored);
  const crypto::WipedAtEnd end(bytes);
  write_framed(path, FileKind::secret_key, bytes, 0600, Replace::no);
}

Client read_secret_key(const std::filesystem::path& path) {
  team::Bytes bytes = read_framed(path, FileKind::secret_key);
  const crypto::WipedAtEnd end(bytes);
  const auto stored = value_of<StoredSecretKey>(bytes, path);
  return naming(path, [&] {
    const bgv::SharedContext context = context_of(stored.spec, stored.parameters);
    return Client(stored.spec, bgv::SecretKey(context, stored.id, stored.coefficients));
  });
}

PublicKeys public_keys_of(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  auto keys = value_of<PublicKeys>(bytes, name);
  keys.context = naming(name, [&] { return context_of(keys.spec, keys.parameters); });
  if (keys.evaluation && !bgv::complete(*keys.context, *keys.evaluation)) {
    throw_damaged(name.string());
  }
  return keys;
}

void write_public_keys(const std::filesystem::path& path, const PublicKeys& keys) {
  write_value(path, FileKind::public_keys, keys, 0666, Replace::no);
}

PublicKeys read_public_keys(const std::filesystem::path& path) {
  return public_keys_of(read_framed(path, FileKind::public_keys), path);
}

}  // namespace tabane::mine
