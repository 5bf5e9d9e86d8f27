#include "tabane/tools/encrypt/sealed_format_fuzz_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tabane/crypto/chunk_cipher.h"
#include "tabane/tools/encrypt/bytes_test.h"
#include "tabane/tools/encrypt/slot_vectors_test.h"

namespace tabane::encrypt {
namespace {

// A sealed file with chunks of 4 KiB.
Bytes sealed_file(std::size_t bytes, KeySource source) {
  std::mt19937_64 random(bytes);
  Header header{.source = source, .chunk_log2 = 12, .scrypt = {}, .file_salt = {}};
  if (source == KeySource::scrypt) header.scrypt = {.log2_n = 15, .r = 8, .p = 1, .salt = {}};
  const Bytes slots = vectors::table_of_all();
  if (source == KeySource::tree_key) set_slots(header, slots);
  std::ranges::copy(random_bytes(kFileSaltBytes, random), header.file_salt.begin());
  const FileKeys keys = derive_file_keys(header, fuzz_key());
  const auto head = encode_header(header, keys);
  Bytes file(head.begin(), head.end());
  if (source == KeySource::tree_key) {
    const Bytes embedded = embed_slots(slots);
    file.insert(file.end(), embedded.begin(), embedded.end());
  }
  crypto::ChunkCipher cipher(crypto::Engine::openssl);
  cipher.set_key(keys.key.bytes());
  std::size_t done = 0;
  for (std::uint32_t index = 0; index == 0 || done < bytes; ++index) {
    const std::size_t here = std::min(header.chunk_bytes(), bytes - done);
    done += here;
    Bytes sealed(here + crypto::kTagBytes);
    cipher.seal(index, done == bytes, random_bytes(here, random), sealed);
    file.insert(file.end(), sealed.begin(), sealed.end());
  }
  return file;
}

std::vector<Bytes> corpus() {
  std::vector<Bytes> files;
  for (const std::size_t bytes : {0, 1, 100, 4095, 4096, 4097, 9000}) {
    files.push_back(sealed_file(bytes, KeySource::key_file));
    files.push_back(sealed_file(bytes, KeySource::scrypt));
    files.push_back(sealed_file(bytes, KeySource::tree_key));
  }
  return files;
}

void exchange_chunks(Bytes& file) {
  constexpr std::ptrdiff_t kWhole = 4096 + crypto::kTagBytes;
  const std::size_t header = header_bytes(file);
  if (file.size() >= header + 2 * kWhole) {
    const auto chunks = file.begin() + static_cast<std::ptrdiff_t>(header);
    std::swap_ranges(chunks, chunks + kWhole, chunks + kWhole);
  }
}

void mutate(Bytes& file, std::mt19937_64& random) {
  const std::size_t before = file.size();
  switch (random() % 6) {
    case 0:
      flip(file, random() % (8 * before));
      break;
    case 1:
      flip(file, random() % (8 * std::min(before, kHeaderBytes)));
      break;
    case 2:
      file.resize(random() % before);
      break;
    case 3:
      file.resize(before + 1 + random() % 40);
      break;
    case 4:
      file[random() % before] = static_cast<std::byte>(random());
      break;
    default:
      exchange_chunks(file);
  }
  file.shrink_to_fit();
}

TEST(FuzzSealedFile, OpensWhatWasSealed) {
  for (const Bytes& file : corpus()) {
    EXPECT_EQ(fuzz_sealed_file(file), FuzzResult::opened) << file.size();
  }
}

TEST(FuzzSealedFile, OpensNothingThatWasChanged) {
  const std::vector<Bytes> files = corpus();
  std::mt19937_64 random(96);
  std::map<FuzzResult, int> seen;
  for (int i = 0; i < 5000; ++i) {
    const Bytes& original = files[random() % files.size()];
    Bytes file = original;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0 && !file.empty(); --n) {
      mutate(file, random);
    }
    const FuzzResult result = fuzz_sealed_file(file);
    ++seen[result];
    EXPECT_EQ(result == FuzzResult::opened, file == original) << i;
  }
  for (const FuzzResult result :
       {FuzzResult::bad_header, FuzzResult::bad_size, FuzzResult::bad_key, FuzzResult::bad_chunk}) {
    EXPECT_GT(seen[result], 0) << static_cast<int>(result);
  }
}

TEST(FuzzSlots, ReadsWhatIsWrittenAndNothingThatCannotBe) {
  const Bytes table = vectors::table_of_all();
  EXPECT_TRUE(fuzz_slots(table));
  std::mt19937_64 random(256);
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes changed = table;
    mutate(changed, random);
    read += fuzz_slots(changed) ? 1 : 0;
    fuzz_slots(random_bytes(random() % 300, random));
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 2000);
  EXPECT_FALSE(fuzz_slots({}));
}

TEST(FuzzSealedFile, RefusesArbitraryBytes) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(fuzz_sealed_file(random_bytes(random() % 300, random)), FuzzResult::bad_header);
  }
  EXPECT_EQ(fuzz_sealed_file({}), FuzzResult::bad_header);
}

}  // namespace
}  // namespace tabane::encrypt
