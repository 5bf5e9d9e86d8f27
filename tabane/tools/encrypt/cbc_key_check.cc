#include "tabane/tools/encrypt/cbc_key_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <span>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/crypto/cbc_cipher.h"

namespace tabane::encrypt {
namespace {

constexpr std::size_t kFilesTried = 32;

struct Ending {
  crypto::Block iv, block;   // the block before the last, or the IV; the last block
  std::uint64_t offset = 0;  // of the last block
};

// throws: core::SystemError.
std::optional<Ending> ending_of(const Request& request, int directory, const char* name) {
  const core::Descriptor file(
      openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.valid() || fstat(file.get(), &status) != 0) return {};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const std::size_t stored = request.fixed_iv ? 0 : crypto::kBlockBytes;
  if (!S_ISREG(status.st_mode) || bytes < stored + crypto::kBlockBytes ||
      bytes % crypto::kBlockBytes != 0) {
    return {};
  }
  Ending ending;
  ending.offset = bytes - crypto::kBlockBytes;
  if (bytes >= 2 * crypto::kBlockBytes) {
    core::read_all_at(file.get(), ending.iv.data(), crypto::kBlockBytes,
                      ending.offset - crypto::kBlockBytes, name);
  } else {
    ending.iv = *request.fixed_iv;
  }
  core::read_all_at(file.get(), ending.block.data(), crypto::kBlockBytes, ending.offset, name);
  return ending;
}

struct Tried {
  std::size_t files = 0, legal = 0;
  std::uint64_t offset = 0;  // of the last one's last block
};

Tried try_endings(const Request& request, const Tree& tree, int root) {
  crypto::CbcCipher cipher(std::span(request.key.bytes()).first(key_bytes(request.cipher)),
                           crypto::Engine::openssl);
  DirectoryOpener directories(tree, root, false);
  Tried tried;
  const std::size_t step = std::max<std::size_t>(1, tree.files.size() / kFilesTried);
  for (std::size_t i = 0; i < tree.files.size() && tried.files < kFilesTried; i += step) {
    const TreeFile& file = tree.files[i];
    try {
      const core::SharedDescriptor directory = directories.open(file.directory);
      std::optional<Ending> ending = ending_of(request, directory->get(), tree.name(file.name_at));
      if (!ending) continue;
      crypto::Block plain;
      cipher.decrypt({.in = ending->block.data(),
                      .out = plain.data(),
                      .bytes = crypto::kBlockBytes,
                      .iv = &ending->iv});
      ++tried.files;
      tried.legal += crypto::unpad_pkcs7(plain) >= 0;
      tried.offset = ending->offset;
    } catch (const core::SystemError&) {
      continue;  // it is told when its turn comes
    }
  }
  return tried;
}

}  // namespace

void require_cbc_key_may_fit(const Request& request, const Tree& tree, int root) {
  const Tried tried = try_endings(request, tree, root);
  if (4 * tried.legal >= tried.files) return;
  if (tree.files.size() == 1) {
    throw core::Error(
        fmt::format("{}: at byte {}: the padding is not legal: wrong key, or the file was changed "
                    "(nothing was written)",
                    tree.path(tree.files.front()), tried.offset));
  }
  throw core::Error(
      fmt::format("wrong key, or most files were changed: of {} files tried, the padding is legal "
                  "in {} (nothing was written)",
                  tried.files, tried.legal));
}

}  // namespace tabane::encrypt
