#include "tabane/tools/mine/encrypted_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/units.h"
#include "tabane/tools/mine/client.h"
#include "tabane/tools/mine/files.h"

namespace tabane::mine {
namespace {

// 1 modulo 2 N for every N up to 32768, and enough for 65536 blocks.
constexpr std::uint64_t kUsualModulus = 65537;

// Returns the largest number that a slot has to hold.
std::uint64_t most_in_slot(const KeySpec& spec, std::size_t transactions, std::size_t slots) {
  return spec.hide_slots ? transactions : blocks_of(transactions, slots);
}

bgv::Computation need_of(const KeySpec& spec, std::uint64_t least_modulus) {
  return {.depth = std::max(depth_of(spec.most_length), 1),
          .least_plaintext_modulus = least_modulus,
          .values = spec.transactions,
          .sum_slots = spec.hide_slots,
          .degree = spec.degree,
          .allow_insecure = spec.allow_insecure};
}

}  // namespace

bgv::Parameters choose_parameters(const KeySpec& spec) {
  std::uint64_t least = kUsualModulus;
  if (spec.hide_slots) least = std::max(least, spec.transactions + 1);
  bgv::Parameters parameters = bgv::Parameters::choose(need_of(spec, least));
  const std::uint64_t most = most_in_slot(spec, spec.transactions, parameters.slots());
  if (most < parameters.plaintext_modulus()) return parameters;
  // Another degree would need another modulus; this one is known to be needed.
  KeySpec same = spec;
  same.degree = parameters.degree();
  return bgv::Parameters::choose(need_of(same, most + 1));
}

void check_capacity(const bgv::Parameters& parameters, const KeySpec& spec,
                    std::size_t transactions) {
  const std::uint64_t modulus = parameters.plaintext_modulus();
  const std::uint64_t most = most_in_slot(spec, transactions, parameters.slots());
  if (most >= modulus) {
    throw core::UsageError(
        "{} transactions are more than the plaintext modulus {} can count: a modulus above {} is "
        "needed; make keys with --transactions {}",
        transactions, modulus, most, transactions);
  }
  KeySpec wanted = spec;
  wanted.transactions = transactions;
  wanted.degree = parameters.degree();
  if (bgv::spare_bits(parameters, need_of(wanted, modulus)) < 0) {
    throw core::UsageError(
        "the noise of {} transactions would be too large for these keys, which are made for {}: "
        "make keys with --transactions {}",
        transactions, spec.transactions, transactions);
  }
}

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
  throw core::UsageError(
      "the encrypted database, {} items in {} blocks of {} transactions, takes {}, and {} are "
      "free: a larger --min-support leaves rare items out",
      shape.items, shape.blocks, parameters.slots(), core::format_value(needed, "B"),
      core::format_value(usable, "B"));
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
          .deviation = context_->noise().fresh(),
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

namespace {

constexpr std::size_t kRecordsAtOnceBytes = std::size_t{64} << 20;

std::uint64_t record_bytes_of(const bgv::Parameters& parameters) {
  return sizeof(bgv::Seed) + 4 * words_of_ciphertext(parameters) + kDigestBytes;
}

std::string record_of(const bgv::Ciphertext& fresh) {
  const auto c0 = std::as_bytes(fresh.words().first(fresh.words().size() / 2));
  std::string record(fresh.seed->begin(), fresh.seed->end());
  record.append(reinterpret_cast<const char*>(c0.data()), c0.size());
  add_digest(record);
  return record;
}

// Writes the ciphertext of a record. Returns false if the record is damaged.
bool read_record(std::string_view record, const bgv::Context& context,
                 std::span<std::uint64_t> words) {
  if (!has_right_digest(record)) return false;
  bgv::Seed seed;
  const auto c0 = words.first(words.size() / 2);
  std::memcpy(seed.data(), record.data(), seed.size());
  std::memcpy(c0.data(), record.data() + seed.size(), c0.size_bytes());
  if (!bgv::are_residues(context, context.primes(), c0)) return false;
  bgv::expand(context, seed, 1, context.primes(), words.subspan(c0.size()));
  return true;
}

struct OpenDatabase {
  core::Descriptor file;
  DatabaseHead head;
  std::uint64_t begin = 0;  // of the records
};

bool fits_size(const DatabaseHead& head, std::uint64_t bytes) {
  if (head.items == 0 || head.blocks == 0) return bytes == 0;
  return head.record_bytes > 0 && bytes % head.record_bytes == 0 &&
         bytes / head.record_bytes % head.items == 0 &&
         bytes / head.record_bytes / head.items == head.blocks;
}

OpenDatabase open_database(const std::filesystem::path& path) {
  OpenDatabase opened{.file = open_to_read(path), .head = {}, .begin = 0};
  const FileFront front = read_front(opened.file, path.string(), FileKind::database);
  opened.head = value_of<DatabaseHead>(front.content, path);
  opened.begin = front.bytes;
  if (!fits_size(opened.head, size_of(opened.file, path.string()) - front.bytes)) {
    throw_cut(path.string());
  }
  return opened;
}

// Reads one block of a file into block `to` of a database.
void read_block(const OpenDatabase& from, const std::filesystem::path& path, std::size_t block,
                EncryptedDatabase& database, std::size_t to) {
  const std::uint64_t bytes = from.head.items * from.head.record_bytes;
  std::string records(bytes, '\0');
  const std::size_t got = core::read_all_at(from.file.get(), records.data(), bytes,
                                            from.begin + block * bytes, path.string());
  if (got != bytes) throw_cut(path.string());
  for (std::size_t item = 0; item < database.items(); ++item) {
    const auto record =
        std::string_view(records).substr(item * from.head.record_bytes, from.head.record_bytes);
    if (read_record(record, *database.context(), database.words(item, to))) continue;
    throw_damaged(fmt::format("{}, item {} of block {}", path.string(), item, block));
  }
}

}  // namespace

DatabaseHead write_database(const std::filesystem::path& path, const Client& client,
                            const Bitmaps& bitmaps, team::Team& threads) {
  const bgv::Parameters& parameters = client.context()->parameters();
  check_capacity(parameters, client.spec(), bitmaps.transactions());
  const DatabaseHead head{.id = bgv::fresh_key_id(),
                          .key = client.id(),
                          .items = bitmaps.items(),
                          .blocks = blocks_of(bitmaps.transactions(), parameters.slots()),
                          .record_bytes = record_bytes_of(parameters)};
  const std::size_t records = head.items * head.blocks;
  const std::size_t at_once = std::max<std::size_t>(kRecordsAtOnceBytes / head.record_bytes, 1);
  core::write_output(path, [&](const auto& put) {
    put(framed(FileKind::database, bytes_of(head)));
    for (std::size_t begin = 0; begin < records; begin += at_once) {
      const auto some =
          threads.map<std::string>(std::min(at_once, records - begin), [&](std::size_t i) {
            const std::size_t record = begin + i;
            return record_of(client.encrypt(bitmaps, record % head.items, record / head.items));
          });
      for (const std::string& one : some) put(one);
    }
  });
  return head;
}

DatabaseHead read_database_head(const std::filesystem::path& path) {
  return open_database(path).head;
}

EncryptedDatabase read_database(const std::filesystem::path& path, const PublicKeys& keys,
                                std::size_t block_begin, std::size_t block_end,
                                team::Team& threads) {
  const OpenDatabase opened = open_database(path);
  if (opened.head.key != keys.id) {
    throw core::UsageError("{}: was encrypted with other keys than these", path.string());
  }
  if (opened.head.record_bytes != record_bytes_of(keys.context->parameters())) {
    throw_damaged(path.string());
  }
  EncryptedDatabase database(keys.context, keys.id,
                             {.items = opened.head.items, .blocks = block_end - block_begin});
  threads.map<bool>(database.blocks(), [&](std::size_t i) {
    read_block(opened, path, block_begin + i, database, i);
    return true;
  });
  return database;
}

}  // namespace tabane::mine
