#include "tabane/workloads/aes_dir/manifest_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "tabane/workloads/aes_dir/openssl.h"

namespace tabane::workloads::aes_dir {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr const char* kWhat = ".tabane/manifest";

}  // namespace

std::string text_of_root(const Root& root) {
  std::string text;
  for (const std::byte b : root) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

Root root_of(const std::string& text) {
  Root root;
  const bool right_size = text.size() == 2 * root.size();
  if (!right_size || text.find_first_not_of(kDigits) != text.npos) {
    throw core::UsageError("--root: a root is 64 hexadecimal digits in lower case");
  }
  for (std::size_t i = 0; i < root.size(); ++i) {
    root[i] =
        static_cast<std::byte>(kDigits.find(text[2 * i]) << 4 | kDigits.find(text[2 * i + 1]));
  }
  return root;
}

ManifestFileWriter::ManifestFileWriter(core::SharedDescriptor directory, const ManifestSeal& seal,
                                       const ManifestHead& head)
    : file_(std::move(directory), kManifestName, 0600) {
  write(seal.header);
  chunks_.emplace(seal.keys, seal.chunk_bytes,
                  [this](std::span<const std::byte> sealed) { write(sealed); });
  writer_.emplace(head, [this](std::span<const std::byte> plain) { chunks_->put(plain); });
}

void ManifestFileWriter::write(std::span<const std::byte> sealed) {
  core::write_all(file_.fd(), sealed.data(), sealed.size(), kWhat);
  sum_.put(sealed);
}

Root ManifestFileWriter::commit(bool fsync) {
  writer_->finish();
  chunks_->finish();
  struct stat as_made {};
  if (fstat(file_.fd(), &as_made) != 0) throw core::SystemError("stat", kWhat, errno);
  file_.commit(as_made, {.replace = true, .fsync = fsync});
  return sum_.finish();
}

ManifestFileReader::ManifestFileReader(int file, const ManifestSeal& seal) {
  sum_.put(seal.header);
  chunks_.emplace(
      seal.keys, seal.chunk_bytes, seal.header.size(), [this, file](std::span<std::byte> place) {
        const std::size_t there = core::read_all(file, place.data(), place.size(), kWhat);
        sum_.put(place.first(there));
        return there;
      });
  reader_.emplace([this](std::span<std::byte> place) { return chunks_->get(place); });
}

}  // namespace tabane::workloads::aes_dir
