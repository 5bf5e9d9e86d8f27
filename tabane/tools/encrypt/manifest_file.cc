#include "tabane/tools/encrypt/manifest_file.h"

#include <utility>

#include "tabane/crypto/openssl.h"

namespace tabane::encrypt {

ManifestFileWriter::ManifestFileWriter(core::SharedDescriptor directory, const ManifestSeal& seal,
                                       const ManifestHead& head)
    : file_(std::move(directory), kManifestName, 0600) {
  write(seal.header);
  chunks_.emplace(seal.keys, seal.chunk_bytes,
                  [this](std::span<const std::byte> sealed) { write(sealed); });
  writer_.emplace(head, [this](std::span<const std::byte> plain) { chunks_->put(plain); });
}

void ManifestFileWriter::write(std::span<const std::byte> sealed) {
  core::write_all(file_.fd(), sealed.data(), sealed.size(), kManifestPath);
  sum_.put(sealed);
}

Root ManifestFileWriter::commit(bool fsync) {
  writer_->finish();
  chunks_->finish();
  file_.commit({.replace = true, .fsync = fsync});
  return sum_.finish();
}

ManifestFileReader::ManifestFileReader(int file, const ManifestSeal& seal)
    : offset_(seal.header.size()) {
  sum_.put(seal.header);
  chunks_.emplace(seal.keys, seal.chunk_bytes, seal.header.size(),
                  [this, file](std::span<std::byte> place) {
                    const std::size_t there =
                        core::read_all_at(file, place.data(), place.size(), offset_, kManifestPath);
                    offset_ += there;
                    sum_.put(place.first(there));
                    return there;
                  });
  reader_.emplace([this](std::span<std::byte> place) { return chunks_->get(place); });
}

}  // namespace tabane::encrypt
