// The ZIP file that a new book becomes: written entry by entry under a temporary name, so that half
// a book is never seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tabane/core/file.h"
#include "tabane/tools/epub/archive.h"

namespace tabane::epub {

// The content of an entry, made when the archive is written.
class Content {
 public:
  struct Shape {
    std::optional<std::uint64_t> stored;  // bytes that read() gives, if that is known
    struct Deflated {                     // what these bytes inflate to
      std::uint64_t bytes;
      std::uint32_t crc;
    };
    std::optional<Deflated> deflated;  // null: they are the content itself
  };

  virtual ~Content() = default;
  // Called before the first read(); may work for long. throw: what keeps the book from being made.
  virtual Shape shape() = 0;
  // Returns the bytes written, 0 at the end.
  virtual std::size_t read(std::span<std::byte> bytes) = 0;
  virtual void close() {}  // nothing more is read
};

// One thread at a time; that of the archive that is copied from.
class NewArchive {
 public:
  // throws: core::SystemError naming the file.
  explicit NewArchive(const std::filesystem::path& path);
  ~NewArchive();  // leaves nothing there unless write() has returned
  NewArchive(const NewArchive&) = delete;
  NewArchive& operator=(const NewArchive&) = delete;

  // throw: core::Error naming book and entry. deflated: whether the entry is deflated; if the shape
  // of the content does not say so, the bytes are deflated here.
  void add(const std::string& name, std::time_t time, std::unique_ptr<Content> content,
           bool deflated);
  void add_text(const std::string& name, const std::string& text, bool deflate);
  void copy(const Archive& from, const Entry& entry);  // as it is stored there

  // Writes the contents in the order of adding, and gives the file its name. replace: whether a
  // file of this name may be replaced. throws: the exceptions of contents; core::SystemError,
  // core::Error naming the file.
  void write(bool replace);

 private:
  class File;
  void place(const std::string& name, zip_source* source, std::time_t time, bool deflate);

  std::string path_;
  std::exception_ptr problem_;  // the first
  std::unique_ptr<File> file_;
  Zip zip_;
};

}  // namespace tabane::epub
