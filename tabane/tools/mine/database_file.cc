#include "tabane/tools/mine/database_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/tools/mine/bgv/serialise.h"
#include "tabane/tools/mine/container.h"

namespace tabane::mine {
namespace {

constexpr std::size_t kRecordsAtOnceBytes = std::size_t{64} << 20;
constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 30;

struct Opened {
  core::Descriptor file;
  DatabaseHead head;
  std::uint64_t begin = 0;  // of the records
};

bool fits_size(const DatabaseHead& head, std::uint64_t bytes) {
  if (head.items == 0 || head.blocks == 0) return bytes == 0;
  return head.record_bytes > 0 && head.record_bytes <= kMostRecordBytes &&
         bytes % head.record_bytes == 0 && bytes / head.record_bytes % head.items == 0 &&
         bytes / head.record_bytes / head.items == head.blocks;
}

Opened open_database(const std::filesystem::path& path) {
  Opened opened{.file = open_to_read(path), .head = {}, .begin = 0};
  const Front front = read_front(opened.file, path.string(), Kind::database);
  opened.head = value_of<DatabaseHead>(front.content, path);
  opened.begin = front.bytes;
  if (!fits_size(opened.head, size_of(opened.file, path.string()) - front.bytes)) {
    throw_cut(path.string());
  }
  return opened;
}

std::string place_name(const std::filesystem::path& path, std::size_t item, std::size_t block) {
  return fmt::format("{}, item {} of block {}", path.string(), item, block);
}

// A database in memory has no place for what all its ciphertexts have alike, so they must have it.
bool is_as_encrypted(const bgv::Ciphertext& read, const EncryptedDatabase& database) {
  const bgv::Context& context = *database.context();
  constexpr double kRounding = 1e-9;
  return read.key == database.key() && read.components() == 2 &&
         read.primes() == context.primes() &&
         read.deviation <= context.noise().fresh_secret_key() + kRounding;
}

// Reads one block of a file into block `to` of a database.
void read_block(const Opened& from, const std::filesystem::path& path, std::size_t block,
                EncryptedDatabase& database, std::size_t to) {
  const std::uint64_t bytes = from.head.items * from.head.record_bytes;
  std::string records(bytes, '\0');
  const std::size_t got = core::read_all_at(from.file.get(), records.data(), bytes,
                                            from.begin + block * bytes, path.string());
  if (got != bytes) throw_cut(path.string());
  for (std::size_t item = 0; item < database.items(); ++item) {
    const std::string name = place_name(path, item, block);
    const bgv::Ciphertext read = bgv::load_ciphertext(
        std::string_view(records).substr(item * from.head.record_bytes, from.head.record_bytes),
        name, *database.context());
    if (!is_as_encrypted(read, database)) throw_damaged(name);
    std::ranges::copy(read.words(), database.words(item, to).begin());
  }
}

}  // namespace

DatabaseHead write_database(const std::filesystem::path& path, const Client& client,
                            const Bitmaps& bitmaps, team::Team& threads) {
  const bgv::Context& context = *client.context();
  check_capacity(context.parameters(), client.scheme(), bitmaps.transactions());
  DatabaseHead head{.id = bgv::fresh_key_id(),
                    .key = client.id(),
                    .items = bitmaps.items(),
                    .blocks = blocks_of(bitmaps.transactions(), context.degree()),
                    .insecure = !context.parameters().secure()};
  const std::size_t records = head.items * head.blocks;
  const auto record = [&](std::size_t i) {
    return bgv::save(context, client.encrypt(bitmaps, i % head.items, i / head.items));
  };
  if (records > 0) head.record_bytes = record(0).size();
  OutputStream out(path, 0666);
  out.write(container_bytes(Kind::database, bytes_of(head)));
  const std::size_t at_once =
      std::max<std::size_t>(kRecordsAtOnceBytes / std::max<std::size_t>(head.record_bytes, 1), 1);
  for (std::size_t begin = 0; begin < records; begin += at_once) {
    const auto some = threads.map<std::string>(std::min(at_once, records - begin),
                                               [&](std::size_t i) { return record(begin + i); });
    for (const std::string& one : some) out.write(one);
  }
  out.finish();
  return head;
}

DatabaseHead read_database_head(const std::filesystem::path& path) {
  return open_database(path).head;
}

EncryptedDatabase read_database(const std::filesystem::path& path, const PublicKeys& keys,
                                std::size_t block_begin, std::size_t block_end,
                                team::Team& threads) {
  const Opened opened = open_database(path);
  if (opened.head.key != keys.id) {
    throw core::UsageError(
        fmt::format("{}: was encrypted with other keys than these", path.string()));
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
