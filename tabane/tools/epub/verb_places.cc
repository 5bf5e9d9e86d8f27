#include "tabane/tools/epub/verb_places.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/core/output_path.h"
#include "tabane/core/same_place.h"
#include "tabane/program/output.h"

namespace tabane::program {
namespace {

namespace fs = std::filesystem;
using core::FileId;
using epub::BookPaths;

// Whether OUT is a directory for books, not one book's file.
bool is_folder(const std::string& output, std::size_t books) {
  if (output.empty()) throw core::UsageError("-o: the new book needs a name");
  if (output == "-") {
    throw core::UsageError("-o -: a book is a file, not a stream; a file of that name is ./-");
  }
  std::error_code error;
  if (output.ends_with('/') || fs::is_directory(output, error)) return true;
  if (books < 2) return false;
  if (!fs::exists(output, error)) return true;
  throw core::UsageError(fmt::format("-o {}: is no directory, which {} books need", output, books));
}

std::optional<FileId> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

// A book must not be written over another one, or over one that is read.
void require_apart(const std::vector<BookPaths>& books) {
  std::map<fs::path, std::string> from;
  std::map<FileId, std::string> read;
  for (const BookPaths& book : books) {
    const auto [place, is_new] = from.emplace(book.out, book.in);
    if (!is_new) {
      throw core::UsageError(fmt::format("{} and {} would both become {}; give them in two calls",
                                         place->second, book.in, book.out.string()));
    }
    if (const auto id = identity_of(book.in)) read.emplace(*id, book.in);
  }
  for (const BookPaths& book : books) {
    const auto id = identity_of(book.out);
    const auto itself = id ? read.find(*id) : read.end();
    if (itself == read.end()) continue;
    throw core::UsageError(fmt::format("-o {}: is the book {} itself; give another place",
                                       book.out.string(), itself->second));
  }
}

// A link is not followed: it would be replaced, or point where nobody has looked.
void require_free(const std::vector<BookPaths>& books, bool force) {
  for (const BookPaths& book : books) {
    std::error_code error;
    const fs::file_status there = fs::symlink_status(book.out, error);
    if (!fs::exists(there)) continue;
    if (!fs::is_regular_file(there)) {
      throw core::UsageError(
          fmt::format("-o {}: is not a regular file; a book is nothing else", book.out.string()));
    }
    if (!force) {
      throw core::UsageError(fmt::format("{} exists; --force replaces it", book.out.string()));
    }
  }
}

}  // namespace

std::vector<BookPaths> places_of(const std::vector<std::string>& books, const std::string& output,
                                 bool force) {
  const bool folder = is_folder(output, books.size());
  std::vector<BookPaths> places;
  for (const std::string& book : books) {
    const fs::path name = fs::path(book).filename();
    if (name.empty()) {
      throw core::UsageError(fmt::format("BOOK \"{}\": is not the name of a file", book));
    }
    places.push_back({book, folder ? output / name : fs::path(output)});
  }
  require_apart(places);
  require_free(places, force);
  if (folder) require_writable_directory(output);
  return places;
}

void require_record_apart(const std::string& record, const fs::path& book) {
  if (record.empty() || book.empty()) return;
  const fs::path place = fs::absolute(core::follow_output_path(record).path);
  const fs::path other = fs::absolute(book);
  const auto id = identity_of(place), folder = identity_of(place.parent_path());
  const bool is_book = id && id == identity_of(other);
  const bool becomes_it =
      place.filename() == other.filename() && folder && folder == identity_of(other.parent_path());
  if (!is_book && !becomes_it) return;
  throw core::UsageError(
      fmt::format("--json ({}) is the book {}; give another file", record, book.string()));
}

}  // namespace tabane::program
