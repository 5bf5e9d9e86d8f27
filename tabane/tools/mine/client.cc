#include "tabane/tools/mine/client.h"

#include <algorithm>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/decryptor.h"
#include "tabane/tools/mine/bgv/encoder.h"
#include "tabane/tools/mine/bgv/encryptor.h"

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

Client Client::with_new_keys(const Scheme& scheme) {
  return Client(scheme, bgv::SecretKey::generate(bgv::make_context(choose_parameters(scheme))));
}

Client::Client(const Scheme& scheme, bgv::SecretKey key)
    : scheme_(scheme), roles_(std::make_unique<const Roles>(std::move(key))) {}

Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

const bgv::SecretKey& Client::secret_key() const { return roles_->key; }
const bgv::SharedContext& Client::context() const { return roles_->key.context(); }

PublicKeys Client::public_keys() const {
  PublicKeys keys{.id = id(), .scheme = scheme_, .context = context(), .evaluation = {}};
  if (context()->parameters().has_special_prime()) {
    keys.evaluation = bgv::EvaluationKeys::generate(
        roles_->key, {.relinearisation = true, .rotations = scheme_.hide_slots});
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
  if (!scheme_.hide_slots) return roles_->encoder.sum(plaintext);
  const std::vector<std::uint64_t> slots = roles_->encoder.decode(plaintext);
  if (std::ranges::adjacent_find(slots, std::ranges::not_equal_to{}) == slots.end()) {
    return slots[0];
  }
  throw core::Error("the slots of a count differ, though the server was to sum them");
}

EncryptedDatabase encrypt(const Client& client, const Bitmaps& bitmaps, team::Team& threads) {
  const bgv::Parameters& parameters = client.context()->parameters();
  check_capacity(parameters, client.scheme(), bitmaps.transactions());
  EncryptedDatabase database(
      client.context(), client.id(),
      {.items = bitmaps.items(), .blocks = blocks_of(bitmaps.transactions(), parameters.slots())});
  threads.map<bool>(database.items() * database.blocks(), [&](std::size_t i) {
    const std::size_t item = i % database.items(), block = i / database.items();
    const bgv::Ciphertext made = client.encrypt(bitmaps, item, block);
    std::ranges::copy(made.words(), database.words(item, block).begin());
    return true;
  });
  return database;
}

std::vector<std::uint64_t> decrypt(const Client& client, std::span<const bgv::Ciphertext> sums,
                                   team::Team& threads) {
  return threads.map<std::uint64_t>(sums.size(),
                                    [&](std::size_t i) { return client.support(sums[i]); });
}

}  // namespace tabane::mine
