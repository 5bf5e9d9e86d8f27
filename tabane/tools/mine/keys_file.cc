#include "tabane/tools/mine/keys_file.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/crypto/wipe.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/bgv/serialise.h"
#include "tabane/tools/mine/bgv/wiped.h"
#include "tabane/tools/mine/container.h"

namespace tabane::mine {
namespace {

// More than the scheme and the lengths of records take.
constexpr std::size_t kOtherBytes = 1024;

struct StoredSecretKey {
  Scheme scheme;
  std::string parameters, key;  // records

  StoredSecretKey() = default;
  ~StoredSecretKey() { crypto::wipe(std::as_writable_bytes(std::span(key))); }
  StoredSecretKey(StoredSecretKey&&) = default;
  StoredSecretKey& operator=(StoredSecretKey&&) = delete;
  auto fields() { return std::tie(scheme, parameters, key); }
};

struct StoredPublicKeys {
  Scheme scheme;
  bgv::KeyId id{};
  std::string parameters;
  std::optional<std::string> evaluation;

  auto fields() { return std::tie(scheme, id, parameters, evaluation); }
};

// Whether insecure ones are allowed was asked when they were made; they carry their mark.
bgv::SharedContext context_of(const std::string& record, const std::string& name) {
  return bgv::make_context(bgv::load_parameters(record, name, true));
}

// Others rely on it without asking: a product as deep as this must leave a prime.
void check_scheme(const Scheme& scheme, const bgv::Context& context, const std::string& name) {
  if (scheme.most_length >= 1 && scheme.most_length <= kLongestItemset &&
      static_cast<std::size_t>(depth_of(scheme.most_length)) <= context.primes()) {
    return;
  }
  throw core::UsageError(
      fmt::format("{}: says that its keys are made for itemsets of up to {} items, which they "
                  "cannot be",
                  name, scheme.most_length));
}

}  // namespace

void write_secret_key(const std::filesystem::path& path, const Client& client) {
  StoredSecretKey stored;
  stored.scheme = client.scheme();
  stored.parameters = bgv::save(client.context()->parameters());
  stored.key = bgv::save(client.secret_key());
  team::Bytes bytes;
  // Growth would leave copies behind that nobody wipes.
  bytes.reserve(stored.parameters.size() + stored.key.size() + kOtherBytes);
  team::put_value(bytes, stored);
  const bgv::WipedAtEnd end(bytes);
  write_container(path, Kind::secret_key, bytes, 0600, Replace::no);
}

Client read_secret_key(const std::filesystem::path& path) {
  team::Bytes bytes = read_container(path, Kind::secret_key);
  const bgv::WipedAtEnd end(bytes);
  const auto stored = value_of<StoredSecretKey>(bytes, path);
  const std::string name = path.string();
  const bgv::SharedContext context = context_of(stored.parameters, name);
  check_scheme(stored.scheme, *context, name);
  return Client(stored.scheme, bgv::load_secret_key(stored.key, name, context));
}

team::Bytes bytes_of_public_keys(const PublicKeys& keys) {
  StoredPublicKeys stored{.scheme = keys.scheme,
                          .id = keys.id,
                          .parameters = bgv::save(keys.context->parameters()),
                          .evaluation = {}};
  if (keys.evaluation) stored.evaluation = bgv::save(*keys.context, *keys.evaluation);
  return bytes_of(stored);
}

PublicKeys public_keys_of(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  const auto stored = value_of<StoredPublicKeys>(bytes, name);
  PublicKeys keys{.id = stored.id,
                  .scheme = stored.scheme,
                  .context = context_of(stored.parameters, name.string()),
                  .evaluation = {}};
  check_scheme(keys.scheme, *keys.context, name.string());
  if (stored.evaluation) {
    keys.evaluation = bgv::load_evaluation_keys(*stored.evaluation, name.string(), *keys.context);
  }
  return keys;
}

void write_public_keys(const std::filesystem::path& path, const PublicKeys& keys) {
  write_container(path, Kind::public_keys, bytes_of_public_keys(keys), 0666, Replace::no);
}

PublicKeys read_public_keys(const std::filesystem::path& path) {
  return public_keys_of(read_container(path, Kind::public_keys), path);
}

}  // namespace tabane::mine
