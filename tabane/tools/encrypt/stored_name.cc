#include "tabane/tools/encrypt/stored_name.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>

#include "tabane/crypto/key_derivation.h"

namespace tabane::encrypt {

StoredName stored_name_of(const TreeKey& key, const TreeId& tree, std::string_view path) {
  const auto all = crypto::derive_key(key.bytes(), tree, "tabane stored name 2",
                                      std::as_bytes(std::span(path.data(), path.size())));
  StoredName name;
  std::ranges::copy(all.bytes().first(name.size()), name.begin());
  return name;
}

std::string text_of_stored(const StoredName& name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : name) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text.insert(2, 1, '/');
}

std::vector<std::string> stored_directories() {
  std::vector<std::string> names = {".tabane"};
  for (unsigned i = 0; i < 256; ++i) {
    names.push_back(text_of_stored({static_cast<std::byte>(i)}).substr(0, 2));
  }
  return names;
}

Place StoredPlaces::at(const StoredName& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const std::string path = text_of_stored(name);
  core::SharedDescriptor& directory = directories_[std::to_integer<unsigned>(name[0])];
  if (!directory) {
    const std::string first = path.substr(0, 2);
    if (make_ && mkdirat(root_, first.c_str(), 0700) != 0 && errno != EEXIST) {
      throw core::SystemError("make the directory", first, errno);
    }
    core::Descriptor opened(openat(root_, first.c_str(), kFlags));
    if (!opened.valid()) throw core::SystemError("open", first, errno);
    directory = std::make_shared<const core::Descriptor>(std::move(opened));
  }
  return {directory, path.substr(3)};
}

}  // namespace tabane::encrypt
