#include "tabane/tools/mine/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/crypto/secret.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/bgv/encryption.h"
#include "tabane/tools/mine/bgv/records.h"
#include "tabane/tools/mine/files.h"

namespace tabane::mine {

// The others refer to the key.
struct Client::Roles {
  explicit Roles(bgv::SecretKey secret)
      : key(std::move(secret)), encoder(key.context()), encryptor(key), decryptor(key) {}

  bgv::SecretKey key;
  bgv::Encoder encoder;
  bgv::Encryptor encryptor;
  bgv::Decryptor decryptor;
};

Client Client::with_new_keys(const KeySpec& spec) {
  return Client(spec, bgv::SecretKey::generate(bgv::make_context(choose_parameters(spec))));
}

Client::Client(const KeySpec& spec, bgv::SecretKey key)
    : spec_(spec), roles_(std::make_unique<const Roles>(std::move(key))) {}

Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

const bgv::SecretKey& Client::secret_key() const { return roles_->key; }
const bgv::SharedContext& Client::context() const { return roles_->key.context(); }

PublicKeys Client::public_keys() const {
  PublicKeys keys{.id = id(), .spec = spec_, .context = context(), .evaluation = {}};
  if (context()->parameters().has_special_prime()) {
    keys.evaluation = bgv::EvaluationKeys::generate(
        roles_->key, {.relinearisation = true, .rotations = spec_.hide_slots});
  }
  return keys;
}

bgv::Ciphertext Client::encrypt(const Bitmaps& bitmaps, std::size_t item, std::size_t block) const {
  const std::size_t slots = roles_->encoder.slots();
  const std::size_t begin = block * slots;
  const std::size_t count = std::min(slots, bitmaps.transactions() - begin);
  std::vector<std::uint8_t> bits(count);
  const auto words = bitmaps.bits(item);
  for (std::size_t i = 0; i < count; ++i) {
    bits[i] = static_cast<std::uint8_t>(words[(begin + i) / 64] >> (begin + i) % 64 & 1);
  }
  return roles_->encryptor.encrypt(roles_->encoder.encode(bits));
}

std::uint64_t Client::support(const bgv::CiphertextView& sum) const {
  const bgv::Plaintext plaintext = roles_->decryptor.decrypt(sum);
  if (!spec_.hide_slots) return roles_->encoder.sum(plaintext);
  const std::vector<std::uint64_t> slots = roles_->encoder.decode(plaintext);
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

// At least what the KeySpec and the lengths of records take.
constexpr std::size_t kOtherBytes = 1024;

struct StoredSecretKey {
  KeySpec spec;
  std::string parameters, key;  // records

  StoredSecretKey() = default;
  ~StoredSecretKey() { crypto::wipe(std::as_writable_bytes(std::span(key))); }
  StoredSecretKey(StoredSecretKey&&) = default;
  StoredSecretKey& operator=(StoredSecretKey&&) = delete;
  auto fields() { return std::tie(spec, parameters, key); }
};

struct StoredPublicKeys {
  KeySpec spec;
  bgv::KeyId id{};
  std::string parameters;
  std::optional<std::string> evaluation;

  auto fields() { return std::tie(spec, id, parameters, evaluation); }
};

// Insecure parameters had to be allowed when the keys were made; they carry their mark.
bgv::SharedContext context_of(const std::string& record, const std::string& name) {
  return bgv::make_context(bgv::load_parameters(record, name, true));
}

// Others rely on it: a product of the greatest depth must leave a prime.
void check_key_spec(const KeySpec& spec, const bgv::Context& context, const std::string& name) {
  if (spec.most_length >= 1 && spec.most_length <= kLongestItemset &&
      static_cast<std::size_t>(depth_of(spec.most_length)) <= context.primes()) {
    return;
  }
  throw core::UsageError(
      fmt::format("{}: says that its keys are made for itemsets of up to {} items, which they "
                  "cannot be",
                  name, spec.most_length));
}

}  // namespace

void write_secret_key(const std::filesystem::path& path, const Client& client) {
  StoredSecretKey stored;
  stored.spec = client.spec();
  stored.parameters = bgv::save(client.context()->parameters());
  stored.key = bgv::save(client.secret_key());
  team::Bytes bytes;
  // Growth would leave unwiped copies.
  bytes.reserve(stored.parameters.size() + stored.key.size() + kOtherBytes);
  team::put_value(bytes, stored);
  const crypto::WipedAtEnd end(bytes);
  write_framed(path, FileKind::secret_key, bytes, 0600, Replace::no);
}

Client read_secret_key(const std::filesystem::path& path) {
  team::Bytes bytes = read_framed(path, FileKind::secret_key);
  const crypto::WipedAtEnd end(bytes);
  const auto stored = value_of<StoredSecretKey>(bytes, path);
  const std::string name = path.string();
  const bgv::SharedContext context = context_of(stored.parameters, name);
  check_key_spec(stored.spec, *context, name);
  return Client(stored.spec, bgv::load_secret_key(stored.key, name, context));
}

team::Bytes bytes_of_public_keys(const PublicKeys& keys) {
  StoredPublicKeys stored{.spec = keys.spec,
                          .id = keys.id,
                          .parameters = bgv::save(keys.context->parameters()),
                          .evaluation = {}};
  if (keys.evaluation) stored.evaluation = bgv::save(*keys.context, *keys.evaluation);
  return bytes_of(stored);
}

PublicKeys public_keys_of(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  const auto stored = value_of<StoredPublicKeys>(bytes, name);
  PublicKeys keys{.id = stored.id,
                  .spec = stored.spec,
                  .context = context_of(stored.parameters, name.string()),
                  .evaluation = {}};
  check_key_spec(keys.spec, *keys.context, name.string());
  if (stored.evaluation) {
    keys.evaluation = bgv::load_evaluation_keys(*stored.evaluation, name.string(), *keys.context);
  }
  return keys;
}

void write_public_keys(const std::filesystem::path& path, const PublicKeys& keys) {
  write_framed(path, FileKind::public_keys, bytes_of_public_keys(keys), 0666, Replace::no);
}

PublicKeys read_public_keys(const std::filesystem::path& path) {
  return public_keys_of(read_framed(path, FileKind::public_keys), path);
}

}  // namespace tabane::mine
