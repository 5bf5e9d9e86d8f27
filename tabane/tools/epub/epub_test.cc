// The parts of which a protected book consists, each by itself; whole books are tested through the
// program.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"
#include "tabane/program/layout.h"
#include "tabane/tools/epub/archive.h"
#include "tabane/tools/epub/cryptography.h"
#include "tabane/tools/epub/licence.h"
#include "tabane/tools/epub/package.h"
#include "tabane/tools/epub/pipeline.h"

namespace tabane::epub {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::size_t words) {
  std::string text;
  for (std::size_t i = 0; i < words; ++i) text += std::to_string(i * i) + " words ";
  return text;
}

std::vector<std::byte> deflated(Deflater& deflater, std::string_view text) {
  std::vector<std::byte> bytes(Deflater::most(text.size()));
  bytes.resize(deflater.deflate(bytes_of(text), bytes));
  return bytes;
}

TEST(EpubDeflate, GivesBackWhatItTook) {
  Deflater deflater;
  for (const std::size_t words : {0u, 1u, 1000u, 50000u}) {
    const std::string text = text_of(words);
    const auto bytes = deflated(deflater, text);
    std::vector<std::byte> back(text.size());
    ASSERT_TRUE(deflater.inflate(bytes, back)) << words;
    EXPECT_TRUE(std::ranges::equal(back, bytes_of(text)));
    InflatedSum sum(text.size());
    for (std::size_t at = 0; at < bytes.size(); at += 777) {
      ASSERT_TRUE(
          sum.put(std::span(bytes).subspan(at, std::min<std::size_t>(777, bytes.size() - at))));
    }
    EXPECT_TRUE(sum.ended());
    EXPECT_EQ(sum.bytes(), text.size());
    EXPECT_EQ(sum.crc(), crc32(bytes_of(text)));
  }
}

TEST(EpubDeflate, RefusesOtherLengthsAndWhatFollows) {
  Deflater deflater;
  const std::string text = text_of(1000);
  auto bytes = deflated(deflater, text);
  std::vector<std::byte> shorter(text.size() - 1), longer(text.size() + 1), same(text.size());
  EXPECT_FALSE(deflater.inflate(bytes, shorter));
  EXPECT_FALSE(deflater.inflate(bytes, longer));
  EXPECT_FALSE(InflatedSum(text.size() - 1).put(bytes));
  EXPECT_FALSE(deflater.inflate(std::span(bytes).first(bytes.size() - 3), same));
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(deflater.inflate(bytes, same));
  EXPECT_FALSE(InflatedSum(text.size()).put(bytes));
}

TEST(EpubXmlEncryption, CountsThePadding) {
  EXPECT_EQ(encrypted_bytes(0), 32u);
  EXPECT_EQ(encrypted_bytes(15), 32u);
  EXPECT_EQ(encrypted_bytes(16), 48u);
  std::vector<std::byte> block(16, std::byte{0xa5});
  for (const int wrong : {0, 17, 255}) {
    block.back() = static_cast<std::byte>(wrong);
    EXPECT_FALSE(without_padding(block)) << wrong;
  }
  // What stands before the last byte is anything.
  block.back() = std::byte{16};
  EXPECT_EQ(without_padding(block), 0u);
  block.back() = std::byte{1};
  EXPECT_EQ(without_padding(block), 15u);
  EXPECT_FALSE(without_padding({}));
  EXPECT_FALSE(without_padding(std::span(block).first(15)));
}

TEST(EpubXmlEncryption, ValuesComeBackWithTheirKeyOnly) {
  Key key, other;
  other.bytes()[31] = std::byte{1};
  for (const std::string value : {"", "x", "sixteen bytes ok", "a licence's id, which is longer"}) {
    const std::string text = encrypt_value(key, bytes_of(value));
    EXPECT_EQ(decrypt_value(key, text), value);
    EXPECT_NE(decrypt_value(other, text), value);
    EXPECT_NE(encrypt_value(key, bytes_of(value)), text);  // another IV
  }
  for (const char* const wrong : {"", "?", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA=="}) {
    EXPECT_FALSE(decrypt_value(key, wrong)) << wrong;
  }
}

TEST(EpubXmlEncryption, Base64OfTheStandard) {
  EXPECT_EQ(from_base64("Zm9vYmE="), "fooba");  // RFC 4648, section 10
  for (const char* const wrong : {"", "Zm9", "Zm9v!A==", "===="}) {
    const auto bytes = from_base64(wrong);
    EXPECT_TRUE(!bytes || bytes->size() <= 2) << wrong;
  }
}

TEST(EpubPackage, PathsInUris) {
  EXPECT_EQ(program::percent_encoded("a b/caf\u00e9-1.xhtml"), "a%20b/caf%C3%A9-1.xhtml");
  EXPECT_EQ(percent_decoded("a%20b/caf%C3%a9"), "a b/caf\u00e9");
  EXPECT_EQ(percent_decoded("100%"), "100%");
  EXPECT_EQ(percent_decoded("%zz%4"), "%zz%4");
}

TEST(EpubPackage, MediaWithACompressionOfTheirOwn) {
  const Package package{.media_types = {{"a", "image/png"},
                                        {"b", "image/svg+xml"},
                                        {"c", "audio/mpeg"},
                                        {"d", "application/xhtml+xml"},
                                        {"e", "font/otf"}},
                        .clear = {"OPS/p.opf"}};
  EXPECT_TRUE(is_compressed_media(package, "a") && is_compressed_media(package, "c"));
  for (const char* const text : {"b", "d", "e", "not in the manifest"}) {
    EXPECT_FALSE(is_compressed_media(package, text)) << text;
  }
  for (const char* const clear : {"mimetype", "META-INF/rights.xml", "OPS/p.opf"}) {
    EXPECT_TRUE(stays_clear(package, clear)) << clear;
  }
  EXPECT_FALSE(stays_clear(package, "OPS/META-INF/x"));
}

TEST(EpubEncryptionXml, ListsWhatIsEncrypted) {
  EncryptionXml list;
  EXPECT_TRUE(list.empty());
  list.add("OPS/a b.xhtml", {.deflated = true, .bytes = 5000, .bytes_known = true});
  list.add("OPS/c<\"&.png", {.deflated = false, .bytes = 7, .bytes_known = true});
  const std::string text = list.text();
  EXPECT_NE(text.find("URI=\"OPS/a%20b.xhtml\""), text.npos) << text;
  EXPECT_NE(text.find("URI=\"OPS/c%3C%22%26.png\""), text.npos) << text;
  EXPECT_NE(text.find("Method=\"8\" OriginalLength=\"5000\""), text.npos) << text;
  EXPECT_NE(text.find("Method=\"0\" OriginalLength=\"7\""), text.npos) << text;
  list.remove_by_licence();
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.text().find("EncryptedData"), std::string::npos);
}

TEST(EpubLicence, MomentsInUtc) {
  EXPECT_EQ(utc_of("2026-01-31"), "2026-01-31T00:00:00Z");
  EXPECT_EQ(utc_of("2026-01-31T12:00:00Z"), "2026-01-31T12:00:00Z");
  EXPECT_EQ(utc_of("2026-01-01T05:30:00+09:00"), "2025-12-31T20:30:00Z");
  EXPECT_EQ(utc_of("2026-01-01T23:30:00.250-01:00"), "2026-01-02T00:30:00Z");
  for (const char* const wrong : {"",
                                  "tomorrow",
                                  "2026-02-30",
                                  "2026-13-01",
                                  "2026-1-1",
                                  "2026-01-01T",
                                  "2026-01-01T12:00Z",
                                  "2026-01-01T12:00:00",
                                  "2026-01-01T25:00:00Z",
                                  "2026-01-01T12:00:00Zx",
                                  "2026-01-01T12:00:00 01:00",
                                  "2026-01-01 12:00:00Z",
                                  " 026-01-31",
                                  "+026-01-31",
                                  "2026- 1-31",
                                  "-001-01-01",
                                  "2026-01-01T12:00:00.Z",
                                  "2026-01-01T12:00:00+99:99",
                                  "2026-01-01T12:00:00+-1:00",
                                  "2026-01-01T12:60:00Z"}) {
    EXPECT_FALSE(utc_of(wrong)) << wrong;
  }
}

TEST(EpubLicence, RightsEndAndBegin) {
  const char* const now = "2026-06-01T00:00:00Z";
  EXPECT_EQ(expiry({}, now), "");
  EXPECT_EQ(expiry({.start = "2026-01-01", .end = "2026-12-31"}, now), "");
  EXPECT_EQ(expiry({.end = "2026-05-31"}, now), "ended on 2026-05-31");
  EXPECT_EQ(expiry({.start = "2026-06-01T01:00:00Z"}, now), "begin only on 2026-06-01T01:00:00Z");
}

TEST(EpubProvider, SignsAndNoticesChanges) {
  const Provider provider = Provider::for_tests();
  const std::string signature = provider.sign("text"), certificate = provider.certificate();
  const SignatureCheck good = check_signature("text", kRsaSha256, certificate, signature);
  EXPECT_TRUE(good.good) << good.problem;
  EXPECT_TRUE(good.self_signed);
  EXPECT_EQ(good.subject, "CN=tabane test provider");
  EXPECT_FALSE(check_signature("texts", kRsaSha256, certificate, signature).good);
  EXPECT_FALSE(
      check_signature("text", kRsaSha256, Provider::for_tests().certificate(), signature).good);
  EXPECT_FALSE(check_signature("text", "rsa-sha1", certificate, signature).good);
  EXPECT_FALSE(check_signature("text", kRsaSha256, "no certificate", signature).good);
}

// Of what is too large for memory, too: a progress bar shows it.
TEST(EpubStreams, TellWhatTheyHaveDone) {
  const core::ScratchFolder folder("tabane-epub-test");
  NewArchive made(folder / "book.epub");
  made.add_text("stored", text_of(300'000), false);
  made.add_text("deflated", text_of(300'000), true);
  made.write(false);
  const Archive book((folder / "book.epub").string());
  for (const Entry& entry : book.entries()) {
    BooksJob job(1, [] { return false; });
    const Key key;
    const auto stream = encrypted_stream(job, {book, key, 1}, entry, {.deflated = entry.deflated});
    EXPECT_EQ(stream->shape().stored, encrypted_bytes(entry.stored));
    std::vector<std::byte> bytes(encrypted_bytes(entry.stored) + 1);
    std::size_t size = 0, got = 0;
    while ((got = stream->read(std::span(bytes).subspan(size))) > 0) size += got;
    EXPECT_EQ(size, encrypted_bytes(entry.stored));
    EXPECT_NEAR(static_cast<double>(job.bytes_done), static_cast<double>(entry.stored), 64);
  }
}

// Books wait for parts that other threads, or they themselves, do.
TEST(EpubWorkers, DoAllPartsOfAllBooks) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    Workers workers(threads);
    std::atomic<int> parts = 0, books = 0, alone = 0;
    workers.run(
        7,
        [&](std::size_t book, std::size_t worker) {
          EXPECT_LT(worker, threads);
          std::atomic<std::size_t> done = 0;
          const std::size_t count = book * 3;
          for (std::size_t i = 0; i < count; ++i) {
            workers.add(&done, [&](std::size_t) { ++parts, ++done; });
          }
          workers.wait(&done, worker, [&] { return done == count; });
          // Taken back, or done before this returns.
          workers.add(&done, [&](std::size_t) { ++alone; });
          workers.drop(&done);
          ++books;
        },
        [] {});
    EXPECT_EQ(books, 7);
    EXPECT_EQ(parts, 3 * (0 + 1 + 2 + 3 + 4 + 5 + 6));
    EXPECT_LE(alone, 7);
  }
}

TEST(EpubWorkers, AnExceptionOfABookEndsNoOtherAndReachesTheCaller) {
  for (const unsigned threads : {2u, 4u}) {
    Workers workers(threads);
    std::atomic<int> done = 0;
    const auto book = [&](std::size_t i, std::size_t) {
      if (i == 0) throw core::Error("nobody listens");
      ++done;
    };
    EXPECT_THROW(workers.run(8, book, [] {}), core::Error);
    EXPECT_EQ(done, 7);
  }
}

TEST(EpubWorkers, AnExceptionOfAPartKeepsNobodyWaiting) {
  Workers workers(2);
  std::atomic<bool> begun = false;
  const auto book = [&](std::size_t, std::size_t) {
    const int owner = 0;
    workers.add(&owner, [&](std::size_t) {
      begun = true;
      begun.notify_all();
      throw core::Error("cannot be told");
    });
    begun.wait(false);
    workers.drop(&owner);
  };
  EXPECT_THROW(workers.run(1, book, [] {}), core::Error);
}

}  // namespace
}  // namespace tabane::epub
