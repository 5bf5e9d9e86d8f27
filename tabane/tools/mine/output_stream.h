// A file that is written piece by piece, or a pipe or device, which is written to as it is. Unlike
// core::write_output() it never holds all of it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::mine {

enum class Replace { yes, no };

class OutputStream {
 public:
  // path: "-" is stdout. mode: permissions of a new file. throws: core::SystemError naming it, also
  // (EEXIST) if it is there and is not to be replaced.
  OutputStream(const std::filesystem::path& path, mode_t mode, Replace replace = Replace::yes);
  ~OutputStream();  // wipes what it holds
  OutputStream(OutputStream&&) = delete;
  OutputStream& operator=(OutputStream&&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes) {
    write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  // Only now a file is there under its name. throws: as write().
  void finish();

 private:
  void flush();

  std::string shown_;
  core::Descriptor folder_, stream_;
  std::optional<core::TemporaryFile> file_;
  Replace replace_;
  std::string buffer_;
};

}  // namespace tabane::mine
