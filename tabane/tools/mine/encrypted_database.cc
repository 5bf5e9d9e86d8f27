#include "tabane/tools/mine/encrypted_database.h"

#include <fmt/format.h>

#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::mine {
namespace {

std::size_t words_of_ciphertext(const bgv::Parameters& parameters) {
  return bgv::Ciphertext::size_of(parameters.degree(), 2, parameters.primes().size());
}

core::Region region_of(std::size_t bytes) {
  if (bytes == 0) return {};
  const auto pages = core::huge_pages_possible() ? core::PageSize::huge : core::PageSize::system;
  return core::Region(bytes, {.nodes = {}, .pages = pages});
}

}  // namespace

double database_bytes(const bgv::Parameters& parameters, DatabaseShape shape) {
  return 8.0 * static_cast<double>(words_of_ciphertext(parameters)) *
         static_cast<double>(shape.items) * static_cast<double>(shape.blocks);
}

void check_memory(const bgv::Parameters& parameters, DatabaseShape shape, double usable) {
  const double needed = database_bytes(parameters, shape);
  if (needed <= usable) return;
  throw core::UsageError(fmt::format(
      "the encrypted database, {} items in {} blocks of {} transactions, takes {}, and {} are "
      "free: a larger --min-support leaves rare items out",
      shape.items, shape.blocks, parameters.slots(), core::format_value(needed, "B"),
      core::format_value(usable, "B")));
}

void check_memory(const bgv::Parameters& parameters, DatabaseShape shape) {
  check_memory(parameters, shape, comm::usable_memory());
}

EncryptedDatabase::EncryptedDatabase(bgv::SharedContext context, const bgv::KeyId& key,
                                     DatabaseShape shape)
    : context_(std::move(context)),
      key_(key),
      shape_(shape),
      words_each_(words_of_ciphertext(context_->parameters())) {
  check_memory(context_->parameters(), shape);
  memory_ = region_of(bytes());
}

bgv::CiphertextView EncryptedDatabase::at(std::size_t item, std::size_t block) const {
  const std::uint64_t* const words =
      memory_.as<const std::uint64_t>().data() + (block * items() + item) * words_each_;
  return {.words = words,
          .degree = context_->degree(),
          .components = 2,
          .primes = context_->primes(),
          .deviation = context_->noise().fresh_secret_key(),
          .key = key_};
}

std::vector<bgv::CiphertextView> EncryptedDatabase::views(std::size_t block_begin,
                                                          std::size_t block_end) const {
  std::vector<bgv::CiphertextView> all;
  all.reserve((block_end - block_begin) * items());
  for (std::size_t block = block_begin; block < block_end; ++block) {
    for (std::size_t item = 0; item < items(); ++item) all.push_back(at(item, block));
  }
  return all;
}

std::span<std::uint64_t> EncryptedDatabase::words(std::size_t item, std::size_t block) {
  return memory_.as<std::uint64_t>().subspan((block * items() + item) * words_each_, words_each_);
}

std::span<std::uint64_t> EncryptedDatabase::block_words(std::size_t block) {
  return memory_.as<std::uint64_t>().subspan(block * items() * words_each_, items() * words_each_);
}

}  // namespace tabane::mine
